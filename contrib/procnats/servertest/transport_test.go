package servertest_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/contrib/procnats"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// A connection that keeps what it cannot send is refused, and the error says what
// to do.
func TestConnectionThatKeepsCalls(t *testing.T) {
	nc := connect(t, newServer(t, nil).ClientURL(), nats.ReconnectBufSize(nats.DefaultReconnectBufSize))
	serve(t, nc, "build", newHandler(t, newLocal(t)), nil) // a machine may have one
	out, err := newClient(t, nc, "build").Chat("a").Start(t.Context(), procmgr.StartRequest{ID: "x", Command: "true"})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	require.ErrorContains(t, err, "make it with the option nats.ReconnectBufSize(-1)")
	require.Empty(t, out.Process.ID)
}

// A header that the client adds to a request, such as a trace context, comes with it.
func TestHeader(t *testing.T) {
	s := newServer(t, nil)
	nc := connect(t, s.ClientURL())
	var got atomic.Value
	handler := newHandler(t, newLocal(t))
	serve(t, nc, "build", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got.Store(r.Header.Get("Traceparent"))
		handler.ServeHTTP(w, r)
	}), nil)
	client, err := prochttp.NewClient("http://localhost", &prochttp.ClientOptions{
		Transport: procnats.Transport(nc, "build"),
		Inject:    func(_ context.Context, h http.Header) { h.Set("Traceparent", "00-a") },
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	_, err = client.List(t.Context(), procmgr.ListRequest{})
	require.NoError(t, err)
	require.Equal(t, "00-a", got.Load())
}
