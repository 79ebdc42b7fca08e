package proclocal

import (
	"context"
	"sync"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// pauses let a Local be saved at a moment at which no call changes anything. Only
// a Local with a Keep can be saved: without one they do nothing.
type pauses struct {
	on bool        // the Local has a Keep
	mu *sync.Mutex // the Local's; it guards the fields below

	paused bool
	calls  int                // those that change something
	none   *sync.Cond         // calls is 0; its lock is mu
	inputs context.Context    // ends when an input is to end
	end    context.CancelFunc // ends inputs
}

// change begins a call that changes something; the caller calls done at its end.
// While the Local is saved, the error is ErrClosed.
func (p *pauses) change() (done func(), err error) {
	if !p.on {
		return func() {}, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paused {
		return nil, procmgr.ErrClosed
	}
	p.calls++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.calls--; p.calls == 0 && p.none != nil {
			p.none.Broadcast()
		}
	}, nil
}

// whileLive returns a context for an input: it ends with ctx, and when the Local is
// about to be saved. How much was written is then known.
func (p *pauses) whileLive(ctx context.Context) (context.Context, context.CancelFunc) {
	if !p.on {
		return ctx, func() {}
	}
	p.mu.Lock()
	if p.inputs == nil {
		p.inputs, p.end = context.WithCancel(context.Background())
	}
	live := p.inputs
	p.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(live, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// begin lets no call begin that changes something, and waits for those that are
// under way.
func (p *pauses) begin(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paused {
		return procmgr.ErrClosed
	}
	p.paused = true
	if p.end != nil {
		p.end()
		p.inputs, p.end = nil, nil
	}
	if p.none == nil {
		p.none = sync.NewCond(p.mu)
	}
	defer context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.none.Broadcast()
	})()
	for p.calls > 0 {
		if err := ctx.Err(); err != nil {
			p.paused = false
			return xerrors.Errorf("a call is under way: %w", err)
		}
		p.none.Wait()
	}
	return nil
}

// over lets calls begin again.
func (p *pauses) over() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = false
}
