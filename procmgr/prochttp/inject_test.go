package prochttp_test

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

type spanKey struct{}

// What Inject adds for the context of a call is in each request of it, and the context of
// the Host's call is that of the request.
func TestInject(t *testing.T) {
	local := newLocal(t, nil)
	var mu sync.Mutex
	var got, reached []string
	host := procmgr.WrapHost(local, func(m procmgr.Manager) procmgr.Manager {
		return starter{Manager: m, start: func(ctx context.Context) {
			span, _ := ctx.Value(spanKey{}).(string)
			reached = append(reached, span)
		}}
	})
	handler, err := prochttp.NewHandler(host, &prochttp.HandlerOptions{Insecure: true})
	require.NoError(t, err)
	server := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		span := r.Header.Get("Traceparent")
		mu.Lock()
		got = append(got, span)
		mu.Unlock()
		handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), spanKey{}, span)))
	}))
	client := newClient(t, server, &prochttp.ClientOptions{Inject: func(ctx context.Context, h http.Header) {
		if span, ok := ctx.Value(spanKey{}).(string); ok {
			h.Set("Traceparent", span)
		}
	}})

	out, err := client.Start(context.WithValue(t.Context(), spanKey{}, "one"), procmgr.StartRequest{Command: "exec sleep 1000", Env: map[string]string{"TRACEPARENT": "a"}})
	require.NoError(t, err)
	// By the same ID again, as a caller does who has got no answer.
	req := procmgr.StartRequest{ID: out.Process.ID, Command: "exec sleep 1000", Env: map[string]string{"TRACEPARENT": "b", "TRACESTATE": "c"}}
	out, err = client.Start(context.WithValue(t.Context(), spanKey{}, "two"), req)
	require.NoError(t, err)
	require.True(t, out.Attached)
	output(t, client, req.ID, procmgr.OutputRequest{Wait: time.Millisecond})
	require.Equal(t, []string{"one", "two"}, reached)
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, []string{"one", "two", ""}, slices.Compact(got), "the first call also asks which server it is")
}

// A starter tells the context of each Start.
type starter struct {
	procmgr.Manager
	start func(context.Context)
}

func (s starter) Start(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	s.start(ctx)
	return s.Manager.Start(ctx, req)
}
