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

// maxEnding is how many keepers in a row a start may find in the midst of their
// end.
const maxEnding = 3

func (m *manager) Start(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	for tries := 1; ; tries++ {
		now, err := m.ready(ctx, "start")
		if err != nil {
			return procmgr.Output{}, err
		}
		out, err := m.on.Start(baseenv.With(ctx, now.base()), req)
		if tries == maxEnding || !errors.Is(err, procmgr.ErrClosed) || out.Process.ID != "" {
			return out, err
		}
		now.close() // this keeper is about to end and has started nothing; the next one will
	}
}

func (m *manager) Output(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	if _, err := m.ready(ctx, "output"); err != nil {
		return procmgr.Output{}, err
	}
	return m.on.Output(ctx, id, req)
}

func (m *manager) List(ctx context.Context) ([]procmgr.Process, error) {
	if _, err := m.ready(ctx, "list"); err != nil {
		return nil, err
	}
	return m.on.List(ctx)
}

func (m *manager) ListSome(ctx context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	if _, err := m.ready(ctx, "list"); err != nil {
		return procmgr.ListPage{}, err
	}
	return procmgr.ListSome(ctx, m.on, req)
}

func (m *manager) Signal(ctx context.Context, id string, sig procmgr.Signal) error {
	if _, err := m.ready(ctx, "signal"); err != nil {
		return err
	}
	return m.on.Signal(ctx, id, sig)
}

func (m *manager) Shell(ctx context.Context) (string, error) {
	if _, err := m.ready(ctx, "shell"); err != nil {
		return "", err
	}
	return procmgr.Shell(ctx, m.on)
}

func (m *manager) Events(ctx context.Context, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	if _, err := m.ready(ctx, "events"); err != nil {
		return procmgr.EventPage{}, err
	}
	return procmgr.Events(ctx, m.on, req)
}

func (m *manager) Input(ctx context.Context, id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
	if _, err := m.ready(ctx, "input"); err != nil {
		return procmgr.InputOutput{}, err
	}
	return procmgr.Input(ctx, m.on, id, req)
}

func (m *manager) ready(ctx context.Context, call string) (*line, error) {
	now, err := m.k.ready(ctx)
	if err != nil {
		return nil, xerrors.Errorf("prockeep: %s: %w", call, err)
	}
	return now, nil
}
