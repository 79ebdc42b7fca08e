package prochttp_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/procroute"
)

// A deaf is a machine that answers nothing before its context ends.
type deaf struct{ unable }

func (d deaf) Chat(string) procmgr.Manager { return d }

func (deaf) List(ctx context.Context, _ procmgr.ListRequest) (procmgr.ListPage, error) {
	<-ctx.Done()
	return procmgr.ListPage{}, ctx.Err()
}

func (deaf) Output(ctx context.Context, _ string, _ procmgr.OutputRequest) (procmgr.Output, error) {
	<-ctx.Done()
	return procmgr.Output{}, ctx.Err()
}

func (deaf) Events(ctx context.Context, _ procmgr.EventsRequest) (procmgr.EventPage, error) {
	<-ctx.Done()
	return procmgr.EventPage{}, ctx.Err()
}

// two is a Router of two machines, one of which is deaf.
type two struct{ good procmgr.Host }

func (r two) Host(context.Context, string) (procmgr.Host, error) { return r.good, nil }

func (r two) Hosts(context.Context) (map[string]procmgr.Host, error) {
	return map[string]procmgr.Host{"good": r.good, "deaf": deaf{}}, nil
}

// What some machines have given, and which ones are missing, crosses the wire,
// also through a chain of servers.
func TestPartialOverTheWire(t *testing.T) {
	local := newLocal(t, nil)
	route := procroute.New(two{local}, &procroute.Options{Timeout: 50 * time.Millisecond})
	inner := newClient(t, serve(t, newHandler(t, route, nil)), nil)
	outer := newClient(t, serve(t, newHandler(t, inner, nil)), nil)
	id := run(t, outer.Chat("x"), "echo hello").Process.ID

	for _, h := range []procmgr.Host{route, inner, outer} {
		isMissing := func(err error) {
			t.Helper()
			var partial *procmgr.PartialError
			require.ErrorAs(t, err, &partial)
			require.Len(t, partial.Missing, 1)
			require.EqualError(t, partial.Missing["deaf"], "context deadline exceeded")
			require.NotErrorIs(t, err, procmgr.ErrNotFound)
		}
		page, err := h.List(t.Context(), procmgr.ListRequest{})
		all := page.Processes
		isMissing(err)
		require.Len(t, all, 1)
		require.Equal(t, id, all[0].ID)
		some, err := h.List(t.Context(), procmgr.ListRequest{Limit: 1})
		isMissing(err)
		require.Len(t, some.Processes, 1)
		require.Equal(t, 1, some.Total)
		events, err := h.Events(t.Context(), procmgr.EventsRequest{})
		isMissing(err)
		require.Len(t, events.Events, 2)
		require.NotEmpty(t, events.Next)
		_, err = h.Output(t.Context(), "nobody", procmgr.OutputRequest{})
		isMissing(err)
		isMissing(h.Signal(t.Context(), "nobody", procmgr.Kill))
		out, err := h.Output(t.Context(), id, procmgr.OutputRequest{})
		require.NoError(t, err)
		require.Equal(t, "hello\n", out.Text)
	}
}
