package prockeep

import (
	"context"
	"errors"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// A manager is the view of a keeper that the host or one chat has.
type manager struct {
	k    *Keeper
	view func(procmgr.Host) procmgr.Manager // returns the same view of another Host
	on   procmgr.Manager                    // that of the client
}

func newManager(k *Keeper, view func(procmgr.Host) procmgr.Manager) *manager {
	return &manager{k, view, view(k.client.OfKeeper(nil))}
}

var _ procmgr.Manager = (*manager)(nil)

const (
	// maxEnding is how long a call waits for a keeper that is about to end to make
	// room for the next one, and for that one if it ends too.
	maxEnding = 10 * time.Second
	// maxPause is the longest pause until the call looks again.
	maxPause = 50 * time.Millisecond
)

// patience is for a call that has met a keeper which is about to end.
type patience struct {
	until time.Time
	pause time.Duration
}

// again waits for a moment, and reports whether to try again.
func (p *patience) again(ctx context.Context) bool {
	if p.pause == 0 {
		p.until = time.Now().Add(maxEnding)
	}
	p.pause = min(max(2*p.pause, time.Millisecond), maxPause)
	select {
	case <-time.After(p.pause):
	case <-ctx.Done(): // the next try says so
	}
	return time.Now().Before(p.until)
}

func (m *manager) Start(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	for p := new(patience); ; {
		now, err := m.ready(ctx, "start")
		if err != nil {
			return procmgr.Output{}, err
		}
		out, err := m.view(m.k.client.OfKeeper(now.base(m.k.redact))).Start(ctx, req)
		switch {
		case err == nil, out.Process.ID != "": // it may have begun
			return out, err
		case errors.Is(err, procmgr.ErrClosed):
			now.close() // this keeper is about to end and has started nothing; the next one will
		case !unheard(err):
			return out, err
		}
		if !p.again(ctx) {
			return out, err
		}
	}
}

func (m *manager) Output(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	return ask(ctx, m, "output", func(ctx context.Context) (procmgr.Output, error) { return m.on.Output(ctx, id, req) })
}

func (m *manager) List(ctx context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	return ask(ctx, m, "list", func(ctx context.Context) (procmgr.ListPage, error) { return m.on.List(ctx, req) })
}

// Signal asks one keeper: a signal that may have been sent is not sent again.
func (m *manager) Signal(ctx context.Context, id string, sig procmgr.Signal) error {
	if _, err := m.ready(ctx, "signal"); err != nil {
		return err
	}
	return m.view(m.k.client).Signal(ctx, id, sig)
}

func (m *manager) Describe(ctx context.Context) (procmgr.Description, error) {
	return ask(ctx, m, "describe", m.on.Describe)
}

func (m *manager) Events(ctx context.Context, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	return ask(ctx, m, "events", func(ctx context.Context) (procmgr.EventPage, error) { return m.on.Events(ctx, req) })
}

func (m *manager) Input(ctx context.Context, id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
	return ask(ctx, m, "input", func(ctx context.Context) (procmgr.InputOutput, error) { return m.on.Input(ctx, id, req) })
}

// ask asks a keeper that lives. If that one ends before it has heard of the call, ask
// asks the next one.
func ask[T any](ctx context.Context, m *manager, call string, do func(context.Context) (T, error)) (T, error) {
	for p := new(patience); ; {
		if _, err := m.ready(ctx, call); err != nil {
			var none T
			return none, err
		}
		out, err := do(ctx)
		if err == nil || !unheard(err) || !p.again(ctx) {
			return out, err
		}
	}
}

// unheard reports whether a call has failed because its keeper ended just before: it
// was seen alive, and nobody listened when the request was to be sent.
func unheard(err error) bool { return isAbsent(err) && !errors.Is(err, procmgr.ErrUnknown) }

func (m *manager) ready(ctx context.Context, call string) (*line, error) {
	now, err := m.k.ready(ctx)
	if err != nil {
		return nil, xerrors.Errorf("prockeep: %s: %w", call, err)
	}
	return now, nil
}
