package toolset

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

const (
	// heartbeat is the time between two calls of Options.OnWait.
	heartbeat = 10 * time.Second
	// maxReadFailures is how many reads in a row fail before a stream ends, and readPause
	// the pause after each. The client of another machine has tried for longer before it
	// returns an error.
	maxReadFailures = 5
	readPause       = 500 * time.Millisecond
)

// streams are the goroutines that call Options.OnOutput. Close waits for them.
type streams struct {
	open context.Context // ends at Close
	end  context.CancelFunc
	mu   sync.Mutex // held to begin a stream, and to end open
	all  sync.WaitGroup
}

// Close ends Options.OnOutput: it returns when all calls of it have. So OnOutput must not
// call Close. The Set goes on without it, and so do the processes. The error is always nil.
func (s *Set) Close() error {
	s.streams.mu.Lock()
	s.streams.end()
	s.streams.mu.Unlock()
	s.streams.all.Wait()
	return nil
}

// stream calls Options.OnOutput with the output of a process that a call has started, in
// a goroutine for which Close waits.
func (k *kit) stream(ctx context.Context, c Call, m procmgr.Manager, id string) {
	s := &k.streams
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open.Err() != nil {
		return
	}
	ctx, end := context.WithCancel(context.WithoutCancel(ctx))
	closes := context.AfterFunc(s.open, end)
	s.all.Go(func() {
		defer end()
		defer closes()
		guard(func() { k.follow(ctx, c, m, id) }) // if OnOutput panics, the process goes on, and so do the other streams
	})
}

// follow calls Options.OnOutput until the process has exited, ctx ends, or reading fails
// for good.
func (k *kit) follow(ctx context.Context, c Call, m procmgr.Manager, id string) {
	var next int64
	for failures := 0; failures < maxReadFailures; failures++ {
		var err error
		for chunk, failed := range procmgr.Follow(ctx, m, id, &procmgr.FollowOptions{From: next}) {
			if err = failed; err == nil {
				k.opts.OnOutput(ctx, c, chunk)
				next, failures = chunk.Next, 0
			}
		}
		if err == nil || never(err) || errors.Is(err, procmgr.ErrNotFound) || errors.Is(err, procmgr.ErrClosed) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(readPause):
		}
	}
}

// inPieces waits for up to d by calling wait. With Options.OnWait a piece takes 10 s at
// most, and OnWait is called after each. A piece that ends early ends the wait, because
// its condition holds.
func (k *kit) inPieces(ctx context.Context, c Call, d time.Duration, wait func(d time.Duration) (procmgr.Process, error)) error {
	if k.opts.OnWait == nil {
		_, err := wait(d)
		return err
	}
	began := time.Now()
	for left := d; ; {
		piece, asked := min(left, heartbeat), time.Now()
		p, err := wait(piece)
		if left = d - time.Since(began); err != nil || ctx.Err() != nil || left <= 0 || time.Since(asked) < piece {
			return err
		}
		guard(func() { k.opts.OnWait(ctx, c, p, time.Since(began)) })
	}
}

// await is m.Output, in pieces.
func (k *kit) await(ctx context.Context, c Call, m procmgr.Manager, id string, req procmgr.OutputRequest) (out procmgr.Output, err error) {
	err = k.inPieces(ctx, c, req.Wait, func(d time.Duration) (procmgr.Process, error) {
		req.Wait = d
		out, err = m.Output(ctx, id, req)
		req.State = out.Process.State
		return out.Process, err
	})
	return out, err
}

// begin starts the command and waits for its end, as Start does. If the host wants to
// hear of it meanwhile, the wait is a request of its own: only the answer of Start says
// whether this call has started the process.
func (r *run) begin(ctx context.Context) (procmgr.Output, error) {
	opts, req := &r.kit.opts, r.req
	if !r.call.IssuedAt.IsZero() {
		// By the wall clock too, which goes on while the machine is suspended.
		req.Age = max(time.Since(r.call.IssuedAt), time.Since(r.call.IssuedAt.Round(0)), 0)
	}
	if opts.OnOutput == nil && opts.OnWait == nil {
		out, err := r.m.Start(ctx, req)
		return out, r.replayed(out, err)
	}
	req.Wait = 0
	begun, err := r.m.Start(ctx, req)
	err = r.replayed(begun, err)
	own := err == nil && !begun.Attached || err != nil && !r.chosen && mayHaveBegun(begun, err)
	if opts.OnOutput != nil && own {
		r.kit.stream(ctx, r.call, r.m, r.req.ID)
	}
	if state := begun.Process.State; err != nil || state == procmgr.Exited || state == procmgr.Detached || r.req.Wait <= 0 {
		return begun, err
	}
	out, err := r.kit.await(ctx, r.call, r.m, r.req.ID, procmgr.OutputRequest{
		State: begun.Process.State, Wait: r.req.Wait, UntilWaiting: r.req.UntilWaiting, Limit: r.req.Limit, Highlight: r.req.Highlight,
	})
	if err != nil {
		return begun, err
	}
	out.Attached = begun.Attached
	return out, nil
}

// replayed returns the error of Start. If the call may have been made before, it says so
// unless the manager has looked: its other errors say only that nothing was started now.
func (r *run) replayed(out procmgr.Output, err error) error {
	if err == nil || r.call.IssuedAt.IsZero() || mayHaveBegun(out, err) {
		return err
	}
	for _, looked := range []error{procmgr.ErrInvalid, procmgr.ErrLimit, procmgr.ErrConflict, procmgr.ErrRefused, errors.ErrUnsupported} {
		if errors.Is(err, looked) {
			return err
		}
	}
	return xerrors.Errorf("nothing was started now, but the call may have been made before (%s): %w", words(err), procmgr.ErrUnknown)
}
