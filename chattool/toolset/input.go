package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolproc/toolproc/chattool/arguments"
	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/chattool/toolset/internal/advice"
	"github.com/toolproc/toolproc/procmgr"
)

// inputQuiet is how long the output of a process must be quiet after an input.
const inputQuiet = 300 * time.Millisecond

// input writes to the stdin of a process.
func (k *kit) input(ctx context.Context, c Call, turn *turn) report {
	args := inputArgs{WaitTimeout: arguments.Duration(k.opts.DefaultTimeout)}
	m, res, ok := k.begin(ctx, turn, c, &args, "nothing was written")
	if !ok {
		return res
	}
	budget, _ := k.allow(0)
	t := inputCall{kit: k, call: c, m: m, id: string(args.ProcessID), args: args}
	t.req = procmgr.InputRequest{
		IdempotencyKey: procmgr.NewID(), // for awaitEnd, and for a manager that asks again
		Data:           []byte(args.Text),
		Keys:           args.Keys,
		Close:          bool(args.End),
		Secret:         bool(args.Secret),
		Until:          string(args.WaitFor),
	}
	t.req.Limit, _ = k.outputLimits(budget)
	var clamped string
	t.req.Wait, clamped = k.opts.clamp("wait_timeout", args.WaitTimeout)
	if args.WaitFor == "" && !args.End {
		t.req.UntilQuiet = inputQuiet
	}
	t.req.UntilWaiting = !t.req.Close
	ctx, leave := k.enter(ctx, inFlight{m: m, id: t.id})
	defer leave()
	if res, ok := k.ask(ctx, m, t.question(), "Nothing was written"); !ok {
		return res
	}
	rep := t.write(ctx)
	rep.Budget = budget
	rep.Add(clamped)
	return rep
}

// An inputCall is one call of process_input.
type inputCall struct {
	kit  *kit
	call Call
	m    procmgr.Manager
	id   string
	args inputArgs
	req  procmgr.InputRequest
}

// question returns the question about an input.
func (t *inputCall) question() Question {
	q := Question{
		Call: t.call, Command: string(t.args.Text), ProcessID: t.id, Keys: slices.Clone([]procmgr.Key(t.args.Keys)), Secret: t.req.Secret,
	}
	if q.Secret {
		q.Command = ""
		raw, inner := []byte(t.call.Arguments), ""
		if json.Unmarshal(raw, &inner) == nil { // some models encode the object twice
			raw = []byte(inner)
		}
		var args map[string]json.RawMessage
		_ = json.Unmarshal(raw, &args) // it was read before
		delete(args, "text")
		q.Call.Arguments, _ = json.Marshal(args) // of valid JSON, so there is no error
	}
	return q
}

// write writes, and reports what came of it.
func (t *inputCall) write(ctx context.Context) report {
	began, end := time.Now(), bool(t.args.End)
	var out procmgr.InputOutput
	input := func(wait time.Duration) (procmgr.Process, error) {
		req := t.req
		req.Wait = wait
		var err error
		out, err = t.m.Input(ctx, t.id, req) // again with the same key it only waits
		return out.Process, err
	}
	var err error
	if t.req.Secret { // the wait is part of the write
		_, err = input(t.req.Wait)
	} else {
		err = t.kit.inPieces(ctx, t.call, t.req.Wait, input)
	}
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
	t.kit.tellPrompt(&rep, out.Output)
	if out.Process.Stdin == procmgr.StdinTerminal && alive(out.Process) && len(t.req.Keys) == 0 && strings.HasSuffix(string(t.args.Text), "\n") {
		rep.Add(`If it has not taken the line: a program at a terminal may take text with a line end for a paste; press keys ["enter"].`)
	}
	switch {
	case out.Written < len(t.req.Data):
		rep.fail("only %d of %d bytes of text were written, and no key: the program does not read", out.Written, len(t.req.Data))
		rep.Add("Send the rest of text, and the keys, when it reads again.")
	case ctx.Err() != nil && alive(out.Process):
		rep.fail("%s; what was to be written was written", endOf(ctx))
	case end && alive(out.Process):
		rep.fail("the input has ended, and the process has not, after %s", wording.Duration(t.req.Wait))
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
func (t *inputCall) awaitEnd(ctx context.Context, out procmgr.InputOutput, left time.Duration) procmgr.InputOutput {
	if _, err := t.kit.await(ctx, t.call, t.m, t.id, procmgr.OutputRequest{From: out.Next, Wait: max(left, 0)}); err != nil {
		return out
	}
	again := t.req
	again.Wait, again.Until, again.UntilQuiet, again.UntilWaiting = 0, "", 0, false
	if all, err := t.m.Input(ctx, t.id, again); err == nil {
		return all
	}
	return out
}

// describe reports the output, or the screen if the model asked for it or the
// program shows the alternate one.
func (t *inputCall) describe(ctx context.Context, out procmgr.InputOutput) report {
	k := t.kit
	from := out.Next - int64(len(out.Text)-len(out.Live))
	if out.Truncated != nil {
		from = out.Next - out.Truncated.OriginalBytes
	}
	rep := k.describeFrom(out.Output, max(from, 0))
	k.place(&rep, t.m, out.Output)
	rep.NextOffset = &out.Next
	if k.showScreen(ctx, t.m, &rep, out.Output, bool(t.args.Screen)) {
		return rep
	}
	k.advise(ctx, &rep, t.m, advice.Result{Output: out.Output, Command: k.source(ctx, t.m, out.Process.Command), Reading: true})
	return rep
}

// failed reports why nothing, or not all, was written.
func (t *inputCall) failed(ctx context.Context, out procmgr.InputOutput, err error) report {
	k := t.kit
	res, refused := k.failed(t.call, t.id, "written", err)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return refuse("%s: this host does not offer it (%s), so nothing was written. Use flags, or pipe the answer in", k.names.input, words(err))
	case errors.Is(err, procmgr.ErrInvalid) && strings.Contains(procmgr.Reason(err), "its stdin is empty"):
		return refuse(`%s: the stdin of process %s is empty, so nothing was written. End it with %s, and start it again with stdin "open" or "terminal"`, k.names.input, t.id, k.names.signal)
	case refused:
		return res
	case errors.Is(err, procmgr.ErrUnknown):
		rep := unsure(t.id, "it is unknown whether it was written: %s", words(err))
		rep.Unknown = true
		rep.Add("Look with %s before you send it again.", k.names.output)
		return rep
	}
	snapshot := out.Output
	if snapshot.Process.ID == "" {
		// The context of the call may have ended.
		found, serr := k.snapshot(ctx, t.m, t.id, atEnd)
		if serr != nil {
			if ctx.Err() != nil {
				return k.undecided(ctx, "it is unknown what was written", t.id)
			}
			return unsure(t.id, "nothing was written: %s", words(err))
		}
		snapshot = found
	}
	rep := t.describe(context.WithoutCancel(ctx), procmgr.InputOutput{Output: snapshot, Written: out.Written})
	wrote := "nothing was written"
	if out.Written > 0 {
		wrote = fmt.Sprintf("only %d of %d bytes of text were written", out.Written, len(t.req.Data))
	}
	why := words(err)
	if ctx.Err() != nil {
		why = endOf(ctx)
	}
	rep.fail("%s; %s", why, wrote)
	return rep
}

// pagers are programs that show a text by pages, and take single keys.
var pagers = []string{"less", "more", "most", "pager"}

// tellPrompt says how to answer a program that waits for input, if there is one.
// Only the manager can know that; the question is what the output ends with.
func (k *kit) tellPrompt(rep *report, out procmgr.Output) {
	if out.Process.Waiting == nil || !alive(out.Process) {
		return
	}
	rep.Waiting = out.Process.Waiting
	if !k.opts.Input {
		return
	}
	switch id := out.Process.ID; {
	case out.Process.Waiting.Secret:
		rep.Add(`It waits for a password. Answer with %s {"process_id":%q,"text":…,"keys":["enter"],"secret":true}; ask the user for a password that you do not have.`, k.names.input, id)
	case out.Process.Stdin == procmgr.StdinTerminal && slices.Contains(pagers, out.Process.Waiting.Program):
		rep.Add(`The pager %s waits for a key. %s {"process_id":%q,"text":"q"} ends it; a space in the place of q shows the next page.`, out.Process.Waiting.Program, k.names.input, id)
	case out.Process.Stdin == procmgr.StdinTerminal:
		rep.Add(`It waits for input. Answer with %s {"process_id":%q,"text":…,"keys":["enter"]}.`, k.names.input, id)
	default:
		rep.Add(`It waits for input. Answer with %s {"process_id":%q,"text":"…\n"}.`, k.names.input, id)
	}
}

// showScreen puts the screen of a process in the place of the output, if the model
// has asked for it or the program shows the alternate one.
func (k *kit) showScreen(ctx context.Context, m procmgr.Manager, rep *report, out procmgr.Output, asked bool) bool {
	if out.Process.Stdin == procmgr.StdinTerminal {
		now, err := m.Output(ctx, out.Process.ID, procmgr.OutputRequest{From: out.Next, Screen: true, Limit: k.opts.Limit})
		if err == nil && now.Screen != nil && (asked || now.Screen.Alternate) {
			rep.show(now.Screen, out)
			return true
		}
	} else if asked {
		rep.Add("There is no screen: the process has no terminal, or its output could not be drawn.")
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
}
