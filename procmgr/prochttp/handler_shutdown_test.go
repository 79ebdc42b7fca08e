package prochttp_test

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
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
	url := "http://" + l.Addr().String()
	m := newClient(t, url, nil).Chat("a")
	id := begin(t, m, "echo ready; exec sleep 1000").Process.ID

	var waits sync.WaitGroup
	runs := func(out procmgr.Output, err error) {
		assert.NoError(t, err)
		assert.Equal(t, procmgr.Running, out.Process.State)
		assert.False(t, out.Matched)
	}
	waits.Go(func() { runs(m.Output(t.Context(), id, procmgr.OutputRequest{Wait: time.Hour})) })
	waits.Go(func() { runs(m.Output(t.Context(), id, procmgr.OutputRequest{Wait: time.Hour, Until: "never"})) })
	waits.Go(func() { // it takes several requests
		runs(m.Start(t.Context(), procmgr.StartRequest{ID: "second", Command: "exec sleep 1000", Wait: time.Hour}))
	})
	waits.Go(func() {
		page, err := newClient(t, url, nil).Chat("b").Events(t.Context(), procmgr.EventsRequest{Wait: time.Hour})
		assert.NoError(t, err)
		assert.Empty(t, page.Events)
	})
	require.Eventually(t, func() bool {
		page, err := local.List(t.Context(), procmgr.ListRequest{State: procmgr.Running})
		return err == nil && page.Total == 2 && prochttp.Waiters(handler) == 4 // the second start has begun, too
	}, long, time.Millisecond)
	shutDown()
	waits.Wait()
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

// The handler refuses too many waits. A wait that ends gives its place back.
func TestTooManyWaiters(t *testing.T) {
	t.Parallel()
	local := newLocal(t, nil)
	id := begin(t, local.Chat("a"), "echo ready; exec sleep 1000").Process.ID
	h := newHandler(t, local, &prochttp.HandlerOptions{Token: token, MaxWaiters: 2})
	var wg sync.WaitGroup
	for _, wait := range []string{`}`, `,"wait_id":"w","until":"never"}`} {
		wg.Go(func() { ask(t, h, request("/output", `{"id":"`+id+`","wait":"1m"`+wait)) })
	}
	require.Eventually(t, func() bool { return prochttp.Waiters(h) == 2 }, long, time.Millisecond)
	for _, r := range []*http.Request{
		request("/output", `{"id":"`+id+`","wait":"1m"}`),
		request("/output", `{"id":"`+id+`","wait":"1m","wait_id":"v"}`),
		request("/start", `{"command":"true","wait":"1m"}`),
	} {
		status, code := ask(t, h, r)
		require.Equal(t, http.StatusTooManyRequests, status)
		require.Equal(t, "busy", code)
	}
	status, _ := ask(t, h, request("/output", `{"id":"`+id+`"}`))
	require.Equal(t, http.StatusOK, status, "reading takes no place")
	require.NoError(t, local.Chat("a").Signal(t.Context(), id, procmgr.Kill))
	wg.Wait()
	require.Eventually(t, func() bool { return prochttp.Waiters(h) == 0 }, long, time.Millisecond)
	require.Len(t, list(t, local), 1, "nothing was started")
}
