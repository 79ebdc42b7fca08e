package prochttp_test

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A server that was restarted may have another shell.
func TestDescribeAfterARestart(t *testing.T) {
	var now atomic.Pointer[http.Handler]
	begin := func(shell string) {
		h := newHandler(t, newLocal(t, &proclocal.Options{Shell: []string{shell, "-c"}}), nil)
		now.Store(&h)
	}
	begin("bash")
	c := newClient(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*now.Load()).ServeHTTP(w, r) })), nil)
	machine, err := c.Describe(t.Context())
	require.NoError(t, err)
	require.Equal(t, "bash", machine.Shell)
	begin("zsh")
	_, err = c.List(t.Context(), procmgr.ListRequest{})
	require.NoError(t, err)
	machine, err = c.Describe(t.Context())
	require.NoError(t, err)
	require.Equal(t, "zsh", machine.Shell)
}

type spanKey struct{}

// What Inject adds for the context of a call is in each request of it, and the context of
// the Host's call is that of the request.
func TestInject(t *testing.T) {
	var reached []string
	handler := newHandler(t, &actor{t: t,
		start: func(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
			reached = append(reached, ctx.Value(spanKey{}).(string))
			return procmgr.Output{Process: procmgr.Process{ID: req.ID}}, nil
		},
		output: func(context.Context, procmgr.OutputRequest) (procmgr.Output, error) { return web(), nil },
	}, nil)
	var mu sync.Mutex
	var got []string
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		span := r.Header.Get("Traceparent")
		mu.Lock()
		got = append(got, span)
		mu.Unlock()
		handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), spanKey{}, span)))
	}))
	client := newClient(t, url, &prochttp.ClientOptions{Token: token, Inject: func(ctx context.Context, h http.Header) {
		if span, ok := ctx.Value(spanKey{}).(string); ok {
			h.Set("Traceparent", span)
		}
	}})
	for _, span := range []string{"one", "two"} {
		_, err := client.Start(context.WithValue(t.Context(), spanKey{}, span), procmgr.StartRequest{ID: span, Command: "true"})
		require.NoError(t, err)
	}
	output(t, client, "web", procmgr.OutputRequest{Wait: time.Millisecond})
	require.Equal(t, []string{"one", "two"}, reached)
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, []string{"one", "two", ""}, slices.Compact(got), "the first call also asks which server it is")
}

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
