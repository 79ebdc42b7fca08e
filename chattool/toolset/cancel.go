package toolset

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	// snapshotLimit is how long a read may take that follows a failed one.
	snapshotLimit = 5 * time.Second
	// signalLimit is how long a signal may take that follows a canceled
	// call: the 5 s that Kill may take, and the way there.
	signalLimit = 7 * time.Second
	// stopGrace is how long a command may take to end by itself before it is
	// killed. It is short because the user who pressed stop is waiting.
	stopGrace = 2 * time.Second
	// signalGrace is how long process_signal watches the effect of its
	// signal.
	signalGrace = 1500 * time.Millisecond
)

// stopped reports whether a context that has ended asks for a stop. A deadline
// says only that the caller no longer waits. It does not say that the work is
// unwanted, because most deadlines are set far above this package, for all
// calls alike.
func stopped(ctx context.Context) bool { return !errors.Is(ctx.Err(), context.DeadlineExceeded) }

// byUser reports whether Set.Stop has ended a context.
func byUser(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errStopped) }

// fresh returns a context that does not end with ctx but keeps its values. A
// resolver's manager may find its chat or its credentials there.
func fresh(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), limit)
}

// snapshot reads the state of a process and its output from an offset on, even if
// ctx has ended.
func (k *kit) snapshot(ctx context.Context, m procmgr.Manager, id string, from int64) (procmgr.Output, error) {
	ctx, cancel := fresh(ctx, snapshotLimit)
	defer cancel()
	req := procmgr.OutputRequest{From: from}
	usual, _ := k.allow(0)
	req.Limit, req.Highlight = k.outputLimits(usual)
	return m.Output(ctx, id, req)
}

// settle waits up to grace for the end of a process. A wait also ends when the
// shell ends, so there may be two waits.
func (k *kit) settle(ctx context.Context, m procmgr.Manager, id string, from int64, grace time.Duration) (procmgr.Output, error) {
	deadline := time.Now().Add(grace)
	var out procmgr.Output
	for range 2 {
		next, err := m.Output(ctx, id, procmgr.OutputRequest{From: from, Wait: max(time.Until(deadline), 0), Limit: k.opts.Limit})
		if err != nil {
			return out, err
		}
		out = next
		if out.Process.State != procmgr.Detached {
			break
		}
	}
	return out, nil
}

// atEnd is an offset that skips all of the output.
const atEnd = math.MaxInt64

// cancel stops a command whose caller has asked for a stop: first with terminate, and
// with kill if it does not end. Start returned out and err.
func (r *run) cancel(ctx context.Context, out procmgr.Output, err error) report {
	begun := err == nil || mayHaveBegun(out, err)
	if r.req.Background && (begun || !byUser(ctx)) {
		return r.leave(ctx, out, begun)
	}
	limit, grace := signalLimit, stopGrace
	if !begun {
		limit = stopGrace // the signal spends the ID; most likely no process has it
	}
	var sent error
	for _, sig := range []procmgr.Signal{procmgr.Terminate, procmgr.Kill} {
		sent = r.signal(ctx, sig, limit)
		over := errors.Is(sent, procmgr.ErrNotRunning)
		switch {
		case errors.Is(sent, procmgr.ErrNotFound) && (errors.Is(err, procmgr.ErrUnknown) || errors.Is(sent, procmgr.ErrUnknown)):
			// This manager is not the one that got the start.
			return r.kit.undecided(ctx, "it is unknown whether the command ran; check what it would have changed before running it again", r.req.ID)
		case errors.Is(sent, procmgr.ErrNotFound), sent != nil && !over && !begun:
			// The ID is spent, so a start that is still on its way runs nothing.
			return r.kit.canceled(ctx, "the command was not started", nil, "")
		case sent != nil && !over && sig == procmgr.Terminate:
			continue // it did not reach the command
		}
		found, ferr := r.settle(ctx, grace)
		if ferr == nil {
			out = found
		}
		switch exited := ferr == nil && found.Process.State == procmgr.Exited; {
		case over && sig == procmgr.Terminate:
			return r.kit.canceled(ctx, "the command had ended by then", &out, "")
		case exited && sig == procmgr.Terminate:
			return r.kit.canceled(ctx, "the command was stopped", &out, "")
		case exited:
			return r.kit.canceled(ctx, "the command was killed, since it did not end when asked to", &out, "")
		case sig == procmgr.Kill && ferr != nil && (sent == nil || over):
			return r.kit.canceled(ctx, "the command was killed", nil, "")
		}
		limit, grace, begun = signalLimit, 0, true
	}
	did := "the command could not be stopped and may still run, as process " + r.req.ID
	if sent != nil && !errors.Is(sent, procmgr.ErrNotRunning) {
		did += ": " + words(sent)
	}
	rep := r.kit.canceled(ctx, did, &out, r.req.ID)
	rep.Unknown = rep.State == ""
	return rep
}

// settle waits up to grace for the end of the command.
func (r *run) settle(ctx context.Context, grace time.Duration) (procmgr.Output, error) {
	ctx, done := fresh(ctx, grace+snapshotLimit)
	defer done()
	return r.kit.settle(ctx, r.m, r.req.ID, 0, grace)
}

// leave reports on a background command whose caller is gone. begun says that
// the command may have begun.
func (r *run) leave(ctx context.Context, out procmgr.Output, begun bool) report {
	id := r.req.ID
	found, err := r.kit.snapshot(ctx, r.m, id, 0)
	if err == nil {
		out = found
	}
	switch {
	case out.Process.State != "":
		return r.kit.canceled(ctx, "the command was started in the background, as process "+id+", and left alone", &out, "")
	case !begun:
		return r.kit.canceled(ctx, "the command was not started", nil, "")
	case errors.Is(err, procmgr.ErrNotFound) && !errors.Is(err, procmgr.ErrUnknown):
		return r.kit.undecided(ctx, "the background command was not seen to start; if it does all the same, it is process "+id, id)
	}
	return r.kit.undecided(ctx, "the background command may have started, as process "+id, id)
}

// signal sends a signal to the process of the run, even if ctx has ended.
func (r *run) signal(ctx context.Context, sig procmgr.Signal, limit time.Duration) error {
	ctx, done := fresh(ctx, limit)
	defer done()
	return r.m.Signal(ctx, r.req.ID, sig)
}

// promote reports that a foreground command runs on although its timeout is over:
// from now on it is a background process.
func (r *run) promote(rep *report, out procmgr.Output) {
	rep.fail("still running after %s, the timeout; nothing was killed", wording.Duration(r.req.Wait))
	if r.overdrawn {
		rep.fail("still running when the call ran out of time; nothing was killed")
	}
	next := max(2*min(r.req.Wait, noLimit/2), time.Minute)
	rep.Add(`Do not run the command again. Use %s {"process_id":%q,"since":%d,"wait_timeout":%q} to wait on, %s to end it.`,
		r.kit.names.output, out.Process.ID, out.Next, wording.Duration(min(next, r.kit.opts.MaxTimeout)), r.kit.names.signal)
}

// overdue reports on a command whose call reached its deadline. It ends
// nothing: the result is the same as for the tool's own timeout. Start returned
// out and err.
func (r *run) overdue(ctx context.Context, out procmgr.Output, err error) report {
	r.overdrawn = true
	if err == nil {
		return r.started(ctx, out, "")
	}
	found, ferr := r.kit.snapshot(ctx, r.m, r.req.ID, 0)
	switch {
	case ferr == nil:
		return r.started(ctx, found, "")
	case out.Process.State != "":
		return r.started(ctx, out, "") // as it was when the deadline passed
	case !mayHaveBegun(out, err):
		return r.kit.canceled(ctx, "nothing was started", nil, "")
	}
	rep := unsure(r.req.ID, "the call ran out of time before it was known whether the command has started")
	rep.isError, rep.Unknown = false, true // a deadline is no failure of the tool
	rep.Add(`It may run, or be about to start, as process %s. Do not run it again before %s {"process_id":%q} has said twice that there is no such process.`,
		r.req.ID, r.kit.names.output, r.req.ID)
	return rep
}
