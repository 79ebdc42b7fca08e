package prochttp_test

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A server that shuts down ends its waits with an answer.
func TestGracefulShutdown(t *testing.T) {
	ctx, shutDown := context.WithCancel(t.Context())
	local := newLocal(t, nil)
	handler := newHandler(t, local, &prochttp.HandlerOptions{Token: token, Context: ctx})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := serveOn(t, l, handler)
	c := newClient(t, "http://"+l.Addr().String(), nil)
	m := c.Chat("a")
	id := begin(t, m, "echo ready; exec sleep 1000").Process.ID

	type result struct {
		out procmgr.Output
		err error
	}
	results := make(chan result, 3)
	go func() {
		out, err := m.Output(t.Context(), id, procmgr.OutputRequest{Wait: time.Hour})
		results <- result{out, err}
	}()
	go func() {
		out, err := m.Output(t.Context(), id, procmgr.OutputRequest{Wait: time.Hour, Until: "never"})
		results <- result{out, err}
	}()
	go func() {
		out, err := m.Start(t.Context(), procmgr.StartRequest{Command: "echo ready; exec sleep 1000", Wait: time.Hour}) // of several requests
		results <- result{out, err}
	}()
	require.Eventually(t, func() bool {
		page, err := local.List(t.Context(), procmgr.ListRequest{})
		all := page.Processes
		return err == nil && len(all) == 2
	}, long, time.Millisecond)
	time.Sleep(50 * time.Millisecond) // for the waits; without it they are answered as well
	shutDown()
	for range 3 {
		r := <-results
		require.NoError(t, r.err)
		require.Equal(t, procmgr.Running, r.out.Process.State)
		require.False(t, r.out.Matched)
	}
	_, err = m.Start(t.Context(), procmgr.StartRequest{Command: "true"})
	require.ErrorIs(t, err, procmgr.ErrClosed)
	require.NoError(t, server.Shutdown(t.Context()))
}

// If the server shuts down during a start, the answer says what is known of it:
// nothing was started, or a process may have been.
func TestShutdownInAStart(t *testing.T) {
	for _, test := range []struct {
		id, want string
		status   int
	}{
		{"", "closed", http.StatusServiceUnavailable},
		{"x", "unknown", http.StatusInternalServerError},
	} {
		ctx, shutDown := context.WithCancel(t.Context())
		host := shutHost{newLocal(t, nil), shutDown, test.id}
		r := request("/start", `{"id":"x","command":"true"}`)
		r.Header.Del("Toolproc-Chat-Id")
		status, code := ask(t, newHandler(t, host, &prochttp.HandlerOptions{Token: token, Context: ctx}), r)
		require.Equal(t, test.status, status)
		require.Equal(t, test.want, code)
	}
}

// A shutHost is shut down during a start, as a client is before its request
// arrives.
type shutHost struct {
	*proclocal.Local
	shutDown func()
	id       string // the process ID that it returns
}

func (h shutHost) Start(ctx context.Context, _ procmgr.StartRequest) (procmgr.Output, error) {
	h.shutDown()
	<-ctx.Done()
	return procmgr.Output{Process: procmgr.Process{ID: h.id}}, ctx.Err()
}
