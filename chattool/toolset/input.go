package toolset

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/toolproc/toolproc/chattool/toolset/internal/advice"
	"github.com/toolproc/toolproc/chattool/toolset/internal/arguments"
	"github.com/toolproc/toolproc/chattool/toolset/internal/notices"
	"github.com/toolproc/toolproc/chattool/toolset/internal/script"
	"github.com/toolproc/toolproc/chattool/toolset/internal/wording"
	"github.com/toolproc/toolproc/procmgr"
)

const inputDescription = `Write to the stdin of a process that {execute} started with stdin "open" or "terminal", and return what it prints then. ` +
	`text is written as it is: end a line with \n, or on a terminal with keys ["enter"]. ` +
	`Returns once the output has been quiet for 300 ms; set wait_for if the answer takes longer to come. ` +
	`If the program shows a full screen, the result is that screen. ` +
	`Before the first text, end or control key, wait for the program's prompt with {process_output}: ` +
	`else wait_for matches that prompt and not the answer, and ctrl-d is lost.`

type inputArgs struct {
	processArgs
	Text        arguments.Text     `json:"text,omitempty" description:"What to write, as it is." alias:"input,data,stdin,chars,content,line"`
	Keys        arguments.KeyList  `json:"keys,omitempty" description:"Keys to press after text, on a terminal only: {keys}." alias:"key,press,keystrokes,special_keys"`
	End         arguments.Flag     `json:"end,omitempty" description:"End the input after that (Ctrl-D on a terminal), and wait until the process has ended." alias:"eof,close,close_stdin,finish"`
	Secret      arguments.Flag     `json:"secret,omitempty" description:"For a password on a terminal: write only once the program has turned the echo off, else nothing is written." alias:"password,hidden,sensitive"`
	WaitFor     arguments.Text     `json:"wait_for,omitempty" description:"Return as soon as a line of what it prints then matches this regular expression (RE2)." alias:"pattern,until,filter,regex,match"`
	WaitTimeout arguments.Duration `json:"wait_timeout,omitempty" description:"How long to wait at most, such as \"30s\"; default {default}{max}." alias:"timeout,wait,timeout_ms,timeout_seconds"`
	Screen      arguments.Flag     `json:"screen,omitempty" description:"Return the terminal's screen instead of what was printed." alias:"show_screen,snapshot"`
}

type executeInputArgs struct {
	executeArgs
	Stdin arguments.StdinKind `json:"stdin,omitempty" description:"open: {process_input} can write to stdin. terminal: the same on a terminal, for password prompts, line editing and full-screen programs. Default: empty. Best with run_in_background." enum:"open,terminal" alias:"input_mode,tty,pty,terminal,interactive"`
}

type outputInputArgs struct {
	outputArgs
	Screen arguments.Flag `json:"screen,omitempty" description:"Return the terminal's screen instead of what was printed." alias:"show_screen,snapshot"`
}

// inputQuiet is how long the output of a process must be quiet after an input.
const inputQuiet = 300 * time.Millisecond

// input writes to the stdin of a process.
func (s *Set) input(ctx context.Context, c Call, turn *notices.Turn) report {
	args := inputArgs{WaitTimeout: arguments.Duration(s.opts.DefaultTimeout)}
	if err := arguments.Decode(c.Arguments, &args); err != nil {
		return refuse("%s: %s", s.names.input, words(err))
	}
	if err := checkPattern("wait_for", string(args.WaitFor)); err != nil {
		return refuse("%s: %s", s.names.input, words(err))
	}
	if ctx.Err() != nil {
		return s.canceled(ctx, "nothing was written", nil, "")
	}
	budget, _ := s.page.Allow(0)
	m, res, ok := s.manager(ctx)
	if !ok {
		return res
	}
	turn.Manager = m
	t := typing{set: s, m: m, id: string(args.ProcessID), args: args}
	t.req = procmgr.InputRequest{
		Key:    procmgr.NewID(), // for awaitEnd, and for a manager that asks again
		Data:   []byte(args.Text),
		Keys:   args.Keys,
		Close:  bool(args.End),
		Secret: bool(args.Secret),
		Until:  string(args.WaitFor),
		Limit:  s.opts.Limit,
	}
	var clamped string
	t.req.Wait, clamped = s.clamp("wait_timeout", args.WaitTimeout)
	if args.WaitFor == "" && !args.End {
		t.req.UntilQuiet = inputQuiet
	}
	rep := t.write(ctx)
	rep.Budget = budget
	rep.Add(clamped)
	return rep
}

// A typing is one call of process_input.
type typing struct {
	set  *Set
	m    procmgr.Manager
	id   string
	args inputArgs
	req  procmgr.InputRequest
}

// write writes, and reports what came of it.
func (t *typing) write(ctx context.Context) report {
	began, end := time.Now(), bool(t.args.End)
	out, err := t.m.Input(ctx, t.id, t.req)
	if out.Process.ID == "" && err == nil {
		out.Process.ID = t.id
	}
	if err != nil {
		return t.failed(ctx, out, err)
	}
	if end && out.Written == len(t.req.Data) && alive(out.Process) {
		out = t.awaitEnd(ctx, out, t.req.Wait-time.Since(began))
	}
	rep := t.describe(ctx, out)
	if out.Process.Stdin == procmgr.StdinTerminal && alive(out.Process) && len(t.req.Keys) == 0 && strings.HasSuffix(string(t.args.Text), "\n") {
		rep.Add(`If it has not taken the line: a program at a terminal may take text with a line end for a paste; press keys ["enter"].`)
	}
	switch {
	case out.Written < len(t.req.Data):
		rep.Success = false
		rep.Error = fmt.Sprintf("only %d of %d bytes of text were written, and no key: the program does not read", out.Written, len(t.req.Data))
		rep.Add("Send the rest of text, and the keys, when it reads again.")
	case ctx.Err() != nil && alive(out.Process):
		rep.Success = false
		rep.Error = endOf(ctx) + "; what was to be written was written"
	case end && alive(out.Process):
		rep.Success = false
		rep.Error = "the input has ended, and the process has not, after " + wording.Duration(t.req.Wait)
		if out.Process.Stdin == procmgr.StdinTerminal {
			rep.Add("A program that had not drawn its prompt yet, or that reads single keys, does not see the end: try again, or type its own command to quit.")
		}
	case t.args.WaitFor != "":
		rep.searched(out.Output, rep.From, string(t.args.WaitFor), t.req.Wait)
	}
	return rep
}

// awaitEnd waits until the process has ended, and returns all output from the
// write on: the second request with the key writes nothing.
func (t *typing) awaitEnd(ctx context.Context, out procmgr.InputOutput, left time.Duration) procmgr.InputOutput {
	if _, err := t.m.Output(ctx, t.id, procmgr.OutputRequest{From: out.Next, Wait: max(left, 0)}); err != nil {
		return out
	}
	again := t.req
	again.Wait, again.Until, again.UntilQuiet = 0, "", 0
	if all, err := t.m.Input(ctx, t.id, again); err == nil {
		return all
	}
	return out
}

// describe reports the output, or the screen if the model asked for it or the
// program shows the alternate one.
func (t *typing) describe(ctx context.Context, out procmgr.InputOutput) report {
	s := t.set
	from := out.Next - int64(len(out.Text)-out.LiveBytes)
	if out.Truncated != nil {
		from = out.Next - out.Truncated.OriginalBytes
	}
	rep := s.describeFrom(out.Output, max(from, 0))
	rep.place(&s.places, t.m, out.Output)
	rep.NextOffset = &out.Next
	if s.showScreen(ctx, t.m, &rep, out.Output, bool(t.args.Screen)) {
		return rep
	}
	s.advise(&rep, advice.Result{Output: out.Output, Command: &script.Source{Text: out.Process.Command, Shell: s.shell(ctx, t.m)}, Reading: true})
	return rep
}

// showScreen puts the screen of a process in the place of the output, if the model
// has asked for it or the program shows the alternate one.
func (s *Set) showScreen(ctx context.Context, m procmgr.Manager, rep *report, out procmgr.Output, asked bool) bool {
	if out.Process.Stdin == procmgr.StdinTerminal {
		now, err := m.Output(ctx, out.Process.ID, procmgr.OutputRequest{From: out.Next, Screen: true, Limit: s.opts.Limit})
		if err == nil && now.Screen != nil && (asked || now.Screen.Alternate) {
			rep.show(now.Screen, out)
			return true
		}
	} else if asked {
		rep.Add("The process has no terminal, so there is no screen.")
	}
	return false
}

// show puts a screen in the place of the output.
func (r *report) show(screen *procmgr.Screen, out procmgr.Output) {
	r.Screen = screen
	rows := screen.Rows
	for len(rows) > 0 && rows[len(rows)-1] == "" && len(rows) > screen.Row+1 {
		rows = rows[:len(rows)-1]
	}
	out.Highlights = nil
	out.Text, out.Truncated = strings.Join(rows, "\n"), nil
	r.Out = &out
	r.Add("This is the screen; the cursor is in row %d, column %d.", screen.Row+1, screen.Col+1)
	if screen.Stale {
		r.Add("It could not be drawn any further: the stream of output goes on.")
	}
}

// failed reports why nothing, or not all, was written.
func (t *typing) failed(ctx context.Context, out procmgr.InputOutput, err error) report {
	s := t.set
	switch {
	case errors.Is(err, procmgr.ErrNotFound):
		return s.notFound(t.id, err)
	case errors.Is(err, errors.ErrUnsupported):
		return refuse("%s: %s; nothing was written. Use flags, or pipe the answer in", s.names.input, words(err))
	case errors.Is(err, procmgr.ErrRefused):
		return denied("written", err)
	case errors.Is(err, procmgr.ErrInvalid) && strings.Contains(procmgr.Reason(err), "its stdin is empty"):
		return refuse(`%s: the stdin of process %s is empty, so nothing was written. End it with %s, and start it again with stdin "open" or "terminal"`, s.names.input, t.id, s.names.signal)
	case errors.Is(err, procmgr.ErrInvalid), errors.Is(err, procmgr.ErrConflict), errors.Is(err, procmgr.ErrClosed), errors.Is(err, procmgr.ErrLimit):
		return refuse("%s: %s; nothing was written", s.names.input, words(err))
	case errors.Is(err, procmgr.ErrUnknown):
		rep := unsure(t.id, "it is unknown whether it was written: %s", words(err))
		rep.isError = true
		rep.Add("Look with %s before you send it again.", s.names.output)
		return rep
	}
	snapshot := out.Output
	if snapshot.Process.ID == "" {
		// The context of the call may have ended.
		found, serr := s.snapshotFrom(ctx, t.m, t.id, atEnd)
		if serr != nil {
			if ctx.Err() != nil {
				return s.canceled(ctx, "it is unknown what was written", nil, t.id)
			}
			rep := unsure(t.id, "nothing was written: %s", words(err))
			rep.isError = true
			return rep
		}
		snapshot = found
	}
	rep := t.describe(context.WithoutCancel(ctx), procmgr.InputOutput{Output: snapshot, Written: out.Written})
	rep.Success = false
	wrote := "nothing was written"
	if out.Written > 0 {
		wrote = fmt.Sprintf("only %d of %d bytes of text were written", out.Written, len(t.req.Data))
	}
	why := words(err)
	if ctx.Err() != nil {
		why = endOf(ctx)
	}
	rep.Error = why + "; " + wrote
	return rep
}

// tellInput says how to write to a command that has a stdin, and what becomes of
// the programs that it leaves on a terminal.
func (r *run) tellInput(rep *report, p procmgr.Process) {
	if r.req.Stdin == procmgr.StdinEmpty {
		return
	}
	if p.State == procmgr.Running {
		rep.Add(`%s {"process_id":%q,"text":…} writes to its stdin.`, r.set.names.input, p.ID)
	}
	if r.req.Stdin == procmgr.StdinTerminal && r.source.Tree().Backgrounds() {
		rep.Add("On a terminal, what a shell has started with & ends together with the shell, unless setsid, nohup or set -m keeps it. Start a server without a terminal.")
	}
}
