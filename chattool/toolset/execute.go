package toolset

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/toolproc/toolproc/chattool/arguments"
	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/chattool/toolset/internal/advice"
	"github.com/toolproc/toolproc/chattool/toolset/internal/script"
	"github.com/toolproc/toolproc/procmgr"
)

// backgroundWait is how long execute watches a command that it has started in the
// background. So a command that fails at once ("command not found", "address in use")
// is reported as failed.
const backgroundWait = 200 * time.Millisecond

// execute runs a command.
func (k *kit) execute(ctx context.Context, c Call, t *turn) report {
	args := executeArgs{Timeout: arguments.Duration(k.opts.DefaultTimeout)}
	m, res, ok := k.begin(ctx, t, c, &args, "nothing was started")
	if !ok {
		return res
	}
	if strings.TrimSpace(string(args.Command)) == "" {
		return refuse(`%s: the argument "command" is empty`, k.names.execute)
	}
	budget, cut := k.allow(int(args.MaxOutput))
	t.command = string(args.Command)

	run := run{kit: k, call: c, turn: t, m: m, req: procmgr.StartRequest{
		Command:    string(args.Command),
		WorkDir:    string(args.WorkDir),
		Background: bool(args.RunInBackground),
		Stdin:      procmgr.Stdin(args.Stdin),
	}}
	run.req.Limit, run.req.Highlight = k.outputLimits(budget)
	run.req.UntilWaiting = run.req.Stdin != procmgr.StdinEmpty
	run.req.Wait, run.clamped = k.opts.clamp("timeout", args.Timeout)
	run.source = k.source(ctx, m, run.req.Command)
	if strings.Contains(run.req.Command, "&") {
		if command, ok := run.source.Tree().WithoutAmpersand(run.req.Background); ok {
			run.req.Command = command
			run.source = &script.Source{Text: command, Shell: run.source.Shell}
			run.req.Background = true
			run.ampersand = true
		}
	}
	if run.req.Background {
		run.req.Wait, run.clamped = backgroundWait, ""
	}
	if advice.PrintsFiles(run.source) {
		run.req.Highlight = 0
	}
	if run.req.Notify = string(args.NotifyOn); run.req.Notify != "" {
		if !k.hasEvents(ctx, t, conversation{}) {
			return refuse("nothing was started: the process manager cannot watch for notify_on. Leave notify_on out, and wait with the wait_for of %s", k.names.output)
		}
		t.notify = true
	}
	if k.opts.ProcessID != nil {
		run.req.ID = k.opts.ProcessID(ctx, c)
	}
	if run.chosen = run.req.ID != ""; !run.chosen {
		run.req.ID = procmgr.NewID()
	}
	ctx, leave := k.enter(ctx, inFlight{m: m, id: run.req.ID, starts: true, background: run.req.Background})
	defer leave()
	if k.opts.Approve != nil && (!run.chosen || !run.ran(ctx)) {
		if res, ok := k.ask(ctx, m, Question{Call: c, Command: run.req.Command, WorkDir: run.req.WorkDir}, "Nothing was started"); !ok {
			return res
		}
	}
	t.started = run.req.ID
	rep := run.start(ctx)
	rep.Budget, rep.whole = budget, args.MaxOutput != 0
	rep.Add(cut)
	rep.Add(slashes("notify_on", run.req.Notify))
	return rep
}

// A run is one command that execute is carrying out.
type run struct {
	kit       *kit
	call      Call
	turn      *turn
	m         procmgr.Manager
	req       procmgr.StartRequest
	chosen    bool   // the host has chosen req.ID
	clamped   string // the note that the timeout was cut, or ""
	ampersand bool   // execute took off a trailing &
	source    *script.Source
	// overdrawn says that the deadline of the call's context has passed.
	overdrawn bool
}

// ran reports whether the process of a run is known. If it is, Start starts
// nothing, and there is nothing to ask.
func (r *run) ran(ctx context.Context) bool {
	out, err := r.kit.snapshot(ctx, r.m, r.req.ID, atEnd)
	if err != nil || out.Process.ID != r.req.ID {
		return false
	}
	// A Host sees the processes of all chats, but its own processes have no chat: an
	// ID used by a chat is not its own.
	_, host := r.m.(procmgr.Host)
	return !host || out.Process.ChatID == ""
}

// start starts the command and reports the outcome.
func (r *run) start(ctx context.Context) report {
	out, err := r.begin(ctx)
	if err == nil && out.Process.ID == "" {
		// The manager did not say which process it is. It can only be
		// the requested one.
		out.Process.ID = r.req.ID
	}
	switch {
	case ctx.Err() == nil || !unfinished(out, err):
	case stopped(ctx):
		return r.cancel(ctx, out, err)
	default:
		return r.overdue(ctx, out, err)
	}
	switch {
	case err == nil:
		return r.started(ctx, out, "")
	case mayHaveBegun(out, err):
		return r.broken(ctx, out, err)
	}
	return r.refusal(err)
}

// unfinished reports whether a call whose context has ended leaves work to do: the
// command runs, or may have begun. A bare context error says that nothing has begun.
// unfinished is true then too, since a Manager that is careless with its errors is most
// likely careless with this one.
func unfinished(out procmgr.Output, err error) bool {
	if err != nil {
		return mayHaveBegun(out, err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	}
	return out.Process.State != procmgr.Exited && out.Process.State != procmgr.Detached
}

// started reports on a process that has been started. trouble says why the
// manager could not answer in full, or is "".
func (r *run) started(ctx context.Context, out procmgr.Output, trouble string) report {
	p := out.Process
	rep := r.kit.describe(out)
	r.kit.place(&rep, r.m, out)
	rep.compare = !out.Attached
	if out.Attached {
		rep.Add("This process was started by an earlier call with the same id; nothing was run again.")
	}
	if r.ampersand {
		rep.Add("The trailing & was taken off.")
	}
	rep.Add(r.clamped)
	switch {
	case trouble != "" && !r.req.Background && alive(p) && p.State != procmgr.Detached:
		rep.fail("%s", trouble)
		rep.Add(`Do not run the command again: it has been started. Use %s {"process_id":%q} to go on.`, r.kit.names.output, p.ID)
	case p.State == procmgr.Detached:
		rep.Add(`The shell has ended, but processes that it started in the background live on as process %s. %s reads their output, %s ends them.`,
			p.ID, r.kit.names.output, r.kit.names.signal)
	case p.State == procmgr.Exited && r.req.Background:
		rep.Add("The command has already ended.")
	case p.State == procmgr.Exited:
	case out.Process.Waiting != nil && !r.req.Background:
		rep.Add("It has not ended: do not run it again.")
	case r.req.Background:
		rep.Add(`Runs in the background as process %s%s. Use %s {"process_id":%q,"since":%d} to read what it prints next, with wait_for to wait until it is ready; %s ends it.`,
			p.ID, r.promise(ctx, p), r.kit.names.output, p.ID, out.Next, r.kit.names.signal)
	default:
		r.promote(&rep, out)
	}
	r.tellSame(ctx, &rep, out)
	r.kit.tellPrompt(&rep, out)
	r.tellInput(&rep, out)
	if !alive(p) || !r.kit.showScreen(ctx, r.m, &rep, out, false) {
		r.kit.advise(ctx, &rep, r.m, advice.Result{Output: out, Command: r.source, Background: r.req.Background, WorkDir: r.req.WorkDir})
	}
	return rep
}

// promise says when the model will be told of a process in the background. It is "" if
// the model will not be told.
func (r *run) promise(ctx context.Context, p procmgr.Process) string {
	if p.State == "" || !r.kit.hasEvents(ctx, r.turn, conversationOf(r.m, p.ChatID)) {
		return ""
	}
	when := "; you will be told when it ends"
	if p.Stdin != procmgr.StdinEmpty {
		when += ", when it waits for input"
	}
	if !r.kit.opts.NoticesInInbox {
		when += ", in the result of a later call"
	}
	return when
}

// broken reports on a Start that failed although the command may have begun. It
// asks the manager how the process stands.
func (r *run) broken(ctx context.Context, out procmgr.Output, err error) report {
	found, ferr := r.kit.snapshot(ctx, r.m, r.req.ID, 0)
	if ferr == nil {
		return r.started(ctx, found, "the command was started, but waiting for it failed: "+words(err))
	}
	if !errors.Is(err, procmgr.ErrUnknown) && !errors.Is(ferr, procmgr.ErrNotFound) {
		rep := r.kit.describe(out)
		rep.fail("the command was started, but its output could not be read: %s", words(err))
		if out.Process.State == "" { // only its ID is known
			rep.fail("the command may have been started, and its output could not be read: %s", words(err))
			rep.Unknown = true
		}
		rep.ProcessID = r.req.ID
		rep.Add(`Do not run it again: ask with %s {"process_id":%q} first.`, r.kit.names.output, r.req.ID)
		rep.isError = true
		return rep
	}
	return r.kit.mayHaveRun(r.req.ID, words(err))
}

// mayHaveRun returns the result of a call whose command may have run, as process id.
func (k *kit) mayHaveRun(id, why string) report {
	rep := unsure(id, "it is unknown whether the command ran: %s", why)
	rep.Unknown = true
	rep.Add("Do not simply run it again: first check what it would have changed, and whether %s shows process %s.", k.names.list, id)
	return rep
}

// tellSame names another process of the chat that runs the same command, unless this one
// has already succeeded.
func (r *run) tellSame(ctx context.Context, rep *report, out procmgr.Output) {
	if out.Attached || out.Process.Command == "" || !alive(out.Process) && !failed(out.Process) {
		return
	}
	aside(ctx, func(ctx context.Context) {
		if same := sameCommand(ctx, r.m, out.Process); same != "" {
			rep.Add("The same command already runs in this directory, as process %s. If one is enough, end the other with %s.", wording.Odd(same), r.kit.names.signal)
		}
	})
}

// tellInput says how to write to a command that has a stdin.
func (r *run) tellInput(rep *report, out procmgr.Output) {
	p := out.Process
	if r.req.Stdin != procmgr.StdinEmpty && p.State == procmgr.Running && p.Waiting == nil {
		rep.Add(`%s {"process_id":%q,"text":…} writes to its stdin.`, r.kit.names.input, p.ID)
	}
}
