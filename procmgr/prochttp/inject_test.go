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
