package proclocal

import (
	"context"
	"sync"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// pauses let a Local be saved at a moment at which no call changes anything. Only
// a Local with a Keep can be saved: without one they do nothing. The Local's mu
// guards the fields.
type pauses struct {
	paused bool
	calls  int                // those that change something
	none   *sync.Cond         // calls is 0; its lock is the Local's mu
	inputs context.Context    // ends when an input is to end
	end    context.CancelFunc // ends inputs
}

// change begins a call that changes something; the caller calls done at its end.
// While the Local is saved, the error is ErrClosed.
func (l *Local) change() (done func(), err error) {
	if l.keep == nil {
		return func() {}, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pauses.paused {
		return nil, procmgr.ErrClosed
	}
	l.pauses.calls++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.pauses.calls--; l.pauses.calls == 0 && l.pauses.none != nil {
			l.pauses.none.Broadcast()
		}
	}, nil
}

// whileLive returns a context for an input: it ends with ctx, and when the Local is
// about to be saved. How much was written is then known.
func (l *Local) whileLive(ctx context.Context) (context.Context, context.CancelFunc) {
	if l.keep == nil {
		return ctx, func() {}
	}
	l.mu.Lock()
	if l.pauses.inputs == nil {
		l.pauses.inputs, l.pauses.end = context.WithCancel(context.Background())
	}
	live := l.pauses.inputs
	l.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(live, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// pause lets no call begin that changes something, and waits for those that are
// under way.
func (l *Local) pause(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.pauses.paused {
		return procmgr.ErrClosed
	}
	l.pauses.paused = true
	if l.pauses.end != nil {
		l.pauses.end()
		l.pauses.inputs, l.pauses.end = nil, nil
	}
	if l.pauses.none == nil {
		l.pauses.none = sync.NewCond(&l.mu)
	}
	defer context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.pauses.none.Broadcast()
	})()
	for l.pauses.calls > 0 {
		if err := ctx.Err(); err != nil {
			l.pauses.paused = false
			return xerrors.Errorf("a call is under way: %w", err)
		}
		l.pauses.none.Wait()
	}
	return nil
}

// unpause lets calls begin again.
func (l *Local) unpause() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pauses.paused = false
}
