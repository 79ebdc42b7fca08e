package prochttp_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
)

// What some machines have given, and which ones are missing, crosses the wire,
// also through a chain of servers.
func TestPartialOverTheWire(t *testing.T) {
	partly := &procmgr.PartialError{Missing: map[string]error{"deaf": context.DeadlineExceeded}}
	host := fails(procmgr.Output{}, partly)(t).host.(*actor)
	host.list = func() ([]procmgr.Process, error) { return []procmgr.Process{web().Process}, partly }
	host.events = func(procmgr.EventsRequest) (procmgr.EventPage, error) {
		return procmgr.EventPage{Next: "x", Events: make([]procmgr.Event, 2)}, partly
	}
	inner := newClient(t, serve(t, newHandler(t, host, nil)), nil)
	outer := newClient(t, serve(t, newHandler(t, inner, nil)), nil)
	for _, h := range []procmgr.Host{inner, outer} {
		isMissing := func(err error) {
			t.Helper()
			var partial *procmgr.PartialError
			require.ErrorAs(t, err, &partial)
			require.Len(t, partial.Missing, 1)
			require.EqualError(t, partial.Missing["deaf"], "context deadline exceeded")
			require.NotErrorIs(t, err, procmgr.ErrNotFound)
		}
		page, err := h.List(t.Context(), procmgr.ListRequest{})
		isMissing(err)
		require.Len(t, page.Processes, 1)
		require.Equal(t, "web", page.Processes[0].ID)
		events, err := h.Events(t.Context(), procmgr.EventsRequest{})
		isMissing(err)
		require.Len(t, events.Events, 2)
		require.Equal(t, "x", events.Next)
		_, err = h.Output(t.Context(), "nobody", procmgr.OutputRequest{})
		isMissing(err)
		isMissing(h.Signal(t.Context(), "nobody", procmgr.Kill))
	}
}
