package toolset

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

const (
	// snapshotLimit bounds a read that follows one that failed.
	snapshotLimit = 5 * time.Second
	// signalLimit bounds a signal that follows a canceled call: the 5 s that
	// Kill may take, and the way there.
	signalLimit = 7 * time.Second
	// stopGrace is how long a command may take to end by itself before it is
	// killed. Whoever pressed stop is waiting.
	stopGrace = 2 * time.Second
	// signalGrace is how long process_signal watches what its signal does.
	signalGrace = 1500 * time.Millisecond
)

// fresh returns a context that does not end with ctx and keeps its values: a
// resolver's manager may find its chat or its credentials there.
func fresh(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), limit)
}

// snapshot reads how a process stands, whatever has become of ctx.
func (s *Set) snapshot(ctx context.Context, m procmgr.Manager, id string) (procmgr.Output, error) {
	return s.snapshotFrom(ctx, m, id, 0)
}

func (s *Set) snapshotFrom(ctx context.Context, m procmgr.Manager, id string, from int64) (procmgr.Output, error) {
	ctx, cancel := fresh(ctx, snapshotLimit)
	defer cancel()
	return m.Output(ctx, id, procmgr.OutputRequest{From: from, Limit: s.opts.Limit})
}

// settle waits up to grace for the end of a process. A wait also ends when the
// shell does, so there may be two.
func (s *Set) settle(ctx context.Context, m procmgr.Manager, id string, from int64, grace time.Duration) (procmgr.Output, error) {
	deadline := time.Now().Add(grace)
	var out procmgr.Output
	for range 2 {
		next, err := m.Output(ctx, id, procmgr.OutputRequest{From: from, Wait: max(time.Until(deadline), 0), Limit: s.opts.Limit})
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

// atEnd is an offset that leaves the output itself out.
const atEnd = math.MaxInt64

// cancel settles a command whose caller is gone. out and err are what Start
// returned.
func (r *run) cancel(ctx context.Context, out procmgr.Output, err error) Result {
	if r.req.Background {
		return r.leave(ctx, out)
	}
	id := r.req.ID
	asked := r.signal(ctx, procmgr.Terminate)
	switch {
	case errors.Is(asked, procmgr.ErrNotFound) && errors.Is(err, procmgr.ErrUnknown):
		return r.set.canceled(ctx, "it is unknown whether the command ran; check what it would have changed before running it again", nil, id)
	case errors.Is(asked, procmgr.ErrNotFound):
		// This spends the ID: a start that is still on its way runs nothing.
		return r.set.canceled(ctx, "the command was not started", nil, "")
	case errors.Is(asked, procmgr.ErrNotRunning):
		if found, err := r.set.snapshot(ctx, r.m, id); err == nil {
			out = found
		}
		if out.Process.ID == "" {
			return r.set.canceled(ctx, "the command had ended by then", nil, "")
		}
		return r.set.canceled(ctx, "the command had ended by then", &out, "")
	case asked == nil:
		sctx, done := fresh(ctx, stopGrace+snapshotLimit)
		stopped, err := r.set.settle(sctx, r.m, id, 0, stopGrace)
		done()
		if err == nil && stopped.Process.State == procmgr.Exited {
			return r.set.canceled(ctx, "the command was stopped", &stopped, "")
		}
	}

	// It ignores the signal, or the signal did not get through.
	killed := r.signal(ctx, procmgr.Kill)
	if errors.Is(killed, procmgr.ErrNotFound) {
		return r.set.canceled(ctx, "the command was not started", nil, "")
	}
	ended := killed == nil || errors.Is(killed, procmgr.ErrNotRunning)
	found, ferr := r.set.snapshot(ctx, r.m, id)
	switch {
	case ended && ferr != nil:
		return r.set.canceled(ctx, "the command was killed", nil, "")
	case ferr == nil && found.Process.State == procmgr.Exited:
		return r.set.canceled(ctx, "the command was killed, since it did not end when asked to", &found, "")
	}
	did := "the command could not be stopped and may still run, as process " + id
	if !ended {
		did += ": " + words(killed)
	}
	switch {
	case ferr == nil:
		return r.set.canceled(ctx, did, &found, "")
	case out.Process.ID != "":
		return r.set.canceled(ctx, did, &out, "")
	}
	return r.set.canceled(ctx, did, nil, id)
}

// leave reports on a background command whose caller is gone.
func (r *run) leave(ctx context.Context, out procmgr.Output) Result {
	id := r.req.ID
	found, err := r.set.snapshot(ctx, r.m, id)
	if err == nil {
		out = found
	}
	switch {
	case out.Process.ID != "":
		return r.set.canceled(ctx, "the command was started in the background, as process "+id+", and left alone", &out, "")
	case errors.Is(err, procmgr.ErrNotFound):
		return r.set.canceled(ctx, "the background command was not seen to start; if it does all the same, it is process "+id, nil, id)
	}
	return r.set.canceled(ctx, "the background command may have started, as process "+id, nil, id)
}

// signal signals the run's process, whatever has become of ctx.
func (r *run) signal(ctx context.Context, sig procmgr.Signal) error {
	ctx, done := fresh(ctx, signalLimit)
	defer done()
	return r.m.Signal(ctx, r.req.ID, sig)
}
