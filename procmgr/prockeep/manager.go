package prockeep

import (
	"context"
	"errors"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/baseenv"
)

// A manager is the view of a keeper that the host or one chat has.
type manager struct {
	k  *Keeper
	on procmgr.Manager // the same view of the client
}

var (
	_ procmgr.ShellManager = (*manager)(nil)
	_ procmgr.ListManager  = (*manager)(nil)
	_ procmgr.EventManager = (*manager)(nil)
	_ procmgr.InputManager = (*manager)(nil)
)

// maxEnding is how many keepers in a row a call may find in the midst of their
// end. More than one is rare, unless the idle time is very short.
const maxEnding = 10

func (m *manager) Start(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	for tries := 1; ; tries++ {
		now, err := m.ready(ctx, "start")
		if err != nil {
			return procmgr.Output{}, err
		}
		out, err := m.on.Start(baseenv.With(ctx, now.base()), req)
		switch {
		case err == nil, tries == maxEnding, out.Process.ID != "":
			return out, err
		case errors.Is(err, procmgr.ErrClosed):
			now.close() // this keeper is about to end and has started nothing; the next one will
		case !unheard(now, err):
			return out, err
		}
	}
}

func (m *manager) Output(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	return ask(ctx, m, "output", func() (procmgr.Output, error) { return m.on.Output(ctx, id, req) })
}

func (m *manager) List(ctx context.Context) ([]procmgr.Process, error) {
	return ask(ctx, m, "list", func() ([]procmgr.Process, error) { return m.on.List(ctx) })
}

func (m *manager) ListSome(ctx context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	return ask(ctx, m, "list", func() (procmgr.ListPage, error) { return procmgr.ListSome(ctx, m.on, req) })
}

// Signal asks one keeper: a signal that may have been sent is not sent again.
func (m *manager) Signal(ctx context.Context, id string, sig procmgr.Signal) error {
	if _, err := m.ready(ctx, "signal"); err != nil {
		return err
	}
	return m.on.Signal(ctx, id, sig)
}

func (m *manager) Shell(ctx context.Context) (string, error) {
	return ask(ctx, m, "shell", func() (string, error) { return procmgr.Shell(ctx, m.on) })
}

func (m *manager) Events(ctx context.Context, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	return ask(ctx, m, "events", func() (procmgr.EventPage, error) { return procmgr.Events(ctx, m.on, req) })
}

func (m *manager) Input(ctx context.Context, id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
	return ask(ctx, m, "input", func() (procmgr.InputOutput, error) { return procmgr.Input(ctx, m.on, id, req) })
}

// ask asks a keeper that lives. If that one ends before it has heard of the call, ask
// asks the next one.
func ask[T any](ctx context.Context, m *manager, call string, do func() (T, error)) (T, error) {
	for tries := 1; ; tries++ {
		now, err := m.ready(ctx, call)
		if err != nil {
			var none T
			return none, err
		}
		out, err := do()
		if err == nil || tries == maxEnding || !unheard(now, err) {
			return out, err
		}
	}
}

// unheard reports whether a call has failed because its keeper ended just before: it
// was seen alive, and nobody listened when the request was to be sent.
func unheard(l *line, err error) bool {
	return isAbsent(err) && !errors.Is(err, procmgr.ErrUnknown) && !l.alive()
}

func (m *manager) ready(ctx context.Context, call string) (*line, error) {
	now, err := m.k.ready(ctx)
	if err != nil {
		return nil, xerrors.Errorf("prockeep: %s: %w", call, err)
	}
	return now, nil
}
