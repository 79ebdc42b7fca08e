package toolset

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

const (
	// snapshotLimit is how long a read may take that follows a failed one.
	snapshotLimit = 5 * time.Second
	// signalLimit is how long a signal may take that follows a canceled
	// call: the 5 s that Kill may take, and the way there.
	signalLimit = 7 * time.Second
	// stopGrace is how long a command may take to end by itself before it is
	// killed. Whoever pressed stop is waiting.
	stopGrace = 2 * time.Second
	// signalGrace is how long process_signal watches the effect of its
	// signal.
	signalGrace = 1500 * time.Millisecond
)

// ErrStop is the cause of a deadline that stops a command as a cancel does:
//
//	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, toolset.ErrStop)
//
// A deadline with any other cause is a timeout, and ends no process.
var ErrStop = errors.New("the command is to be stopped")

// stopped reports whether a context that has ended asks for a stop. A deadline
// says only that the caller no longer waits. It does not say that the work is
// unwanted, because most deadlines are set far above this package, for all
// calls alike.
func stopped(ctx context.Context) bool {
	return !errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.Is(context.Cause(ctx), ErrStop)
}

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
	usual, _ := k.page.allow(0)
	req.Limit, req.Highlight = k.page.ask(usual)
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

// cancel handles a command whose caller has asked for a stop. Start returned
// out and err.
func (r *run) cancel(ctx context.Context, out procmgr.Output, err error) report {
	begun := err == nil || mayHaveBegun(out, err)
	if r.req.Background {
		return r.leave(ctx, out, begun)
	}
	limit := signalLimit
	if !begun {
		limit = stopGrace // the signal spends the ID; most likely no process has it
	}
	switch asked := r.signal(ctx, procmgr.Terminate, limit); {
	case !begun && asked != nil && !errors.Is(asked, procmgr.ErrNotRunning):
		return r.kit.canceled(ctx, "the command was not started", nil, "")
	case errors.Is(asked, procmgr.ErrNotFound):
		return r.prevented(ctx, err, asked)
	case errors.Is(asked, procmgr.ErrNotRunning):
		return r.over(ctx, out)
	case asked == nil:
		if ended, ok := r.ended(ctx); ok {
			return r.kit.canceled(ctx, "the command was stopped", &ended, "")
		}
	}
	// The command ignores the signal, or the signal did not reach it.
	return r.kill(ctx, out, err)
}

// prevented reports on a command that the manager does not know. The signal has
// spent its ID, so a start that is still on its way runs nothing. Start
// returned err, and Signal returned asked. asked is also ErrUnknown if this
// manager is not the one that got the start.
func (r *run) prevented(ctx context.Context, err, asked error) report {
	if errors.Is(err, procmgr.ErrUnknown) || errors.Is(asked, procmgr.ErrUnknown) {
		return r.kit.canceled(ctx, "it is unknown whether the command ran; check what it would have changed before running it again", nil, r.req.ID)
	}
	return r.kit.canceled(ctx, "the command was not started", nil, "")
}

// over reports on a command that had ended before the signal came. out is the
// last known snapshot, or empty.
func (r *run) over(ctx context.Context, out procmgr.Output) report {
	const did = "the command had ended by then"
	if found, err := r.kit.snapshot(ctx, r.m, r.req.ID, 0); err == nil {
		out = found
	}
	if out.Process.ID == "" {
		return r.kit.canceled(ctx, did, nil, "")
	}
	return r.kit.canceled(ctx, did, &out, "")
}

// ended waits for the end of a command that was asked to end.
func (r *run) ended(ctx context.Context) (out procmgr.Output, ok bool) {
	ctx, done := fresh(ctx, stopGrace+snapshotLimit)
	defer done()
	out, err := r.kit.settle(ctx, r.m, r.req.ID, 0, stopGrace)
	return out, err == nil && out.Process.State == procmgr.Exited
}

// kill ends a command that did not end when it was asked to. Start returned out
// and err.
func (r *run) kill(ctx context.Context, out procmgr.Output, err error) report {
	killed := r.signal(ctx, procmgr.Kill, signalLimit)
	if errors.Is(killed, procmgr.ErrNotFound) {
		return r.prevented(ctx, err, killed)
	}
	ended := killed == nil || errors.Is(killed, procmgr.ErrNotRunning)
	found, ferr := r.kit.snapshot(ctx, r.m, r.req.ID, 0)
	switch {
	case ended && ferr != nil:
		return r.kit.canceled(ctx, "the command was killed", nil, "")
	case ferr == nil && found.Process.State == procmgr.Exited:
		return r.kit.canceled(ctx, "the command was killed, since it did not end when asked to", &found, "")
	}
	did := "the command could not be stopped and may still run, as process " + r.req.ID
	if !ended {
		did += ": " + words(killed)
	}
	switch {
	case ferr == nil:
		return r.kit.canceled(ctx, did, &found, "")
	case out.Process.ID != "":
		return r.kit.canceled(ctx, did, &out, "")
	}
	return r.kit.canceled(ctx, did, nil, r.req.ID)
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
		return r.kit.canceled(ctx, "the background command was not seen to start; if it does all the same, it is process "+id, nil, id)
	}
	return r.kit.canceled(ctx, "the background command may have started, as process "+id, nil, id)
}

// signal sends a signal to the process of the run, even if ctx has ended.
func (r *run) signal(ctx context.Context, sig procmgr.Signal, limit time.Duration) error {
	ctx, done := fresh(ctx, limit)
	defer done()
	return r.m.Signal(ctx, r.req.ID, sig)
}
