package prochttp_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
)

// An unable is a Host that can do nothing.
type unable struct{ procmgr.Unsupported }

func (u unable) Chat(string) procmgr.Manager { return u }

// A call that the Host behind the handler cannot do has the same sentinel over the
// wire, and no other one.
func TestUnsupported(t *testing.T) {
	calls := map[string]func(context.Context, procmgr.Manager) error{
		"start": func(ctx context.Context, m procmgr.Manager) error {
			_, err := m.Start(ctx, procmgr.StartRequest{ID: "a", Command: "true"})
			return err
		},
		"output": func(ctx context.Context, m procmgr.Manager) error {
			_, err := m.Output(ctx, "a", procmgr.OutputRequest{})
			return err
		},
		"input": func(ctx context.Context, m procmgr.Manager) error {
			_, err := m.Input(ctx, "a", procmgr.InputRequest{Data: []byte("x")})
			return err
		},
		"signal": func(ctx context.Context, m procmgr.Manager) error { return m.Signal(ctx, "a", procmgr.Kill) },
		"list": func(ctx context.Context, m procmgr.Manager) error {
			_, err := m.List(ctx, procmgr.ListRequest{})
			return err
		},
		"events": func(ctx context.Context, m procmgr.Manager) error {
			_, err := m.Events(ctx, procmgr.EventsRequest{})
			return err
		},
		"describe": func(ctx context.Context, m procmgr.Manager) error {
			_, err := m.Describe(ctx)
			return err
		},
	}
	one := newClient(t, serve(t, newHandler(t, unable{}, nil)), nil)
	two := newClient(t, serve(t, newHandler(t, one, nil)), nil)
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			for _, m := range []procmgr.Manager{one, one.Chat("a"), two, two.Chat("a")} {
				err := call(t.Context(), m)
				require.ErrorIs(t, err, errors.ErrUnsupported)
				require.ErrorContains(t, err, "prochttp: "+name)
				for _, other := range []error{procmgr.ErrUnknown, procmgr.ErrNotFound, procmgr.ErrInvalid, procmgr.ErrRefused} {
					require.NotErrorIs(t, err, other)
				}
			}
		})
	}
}
