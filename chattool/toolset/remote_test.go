//go:build linux || darwin || freebsd

package toolset_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// A transport that holds back the first start until it is released, and brings
// it to the server whatever has become of its caller.
type lateTransport struct {
	held, release, arrived chan struct{}
}

func newLate() *lateTransport {
	return &lateTransport{held: make(chan struct{}), release: make(chan struct{}), arrived: make(chan struct{})}
}

func (l *lateTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != "/start" {
		return http.DefaultTransport.RoundTrip(r)
	}
	late := r.Clone(context.WithoutCancel(r.Context()))
	go func() {
		defer close(l.arrived)
		close(l.held)
		<-l.release
		if res, err := http.DefaultTransport.RoundTrip(late); err == nil {
			res.Body.Close()
		}
	}()
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// Stop is pressed while the start is still on its way to another machine. It
// arrives all the same, and runs nothing.
func TestStopBeforeTheStartArrives(t *testing.T) {
	t.Parallel()
	host := newHost(t, nil)
	late := newLate()
	l := &local{t: t, set: newSet(toolset.Static(remote(t, host, nil, &prochttp.ClientOptions{Transport: late})), nil)}
	file := filepath.Join(t.TempDir(), "ran")
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		<-late.held
		stop()
	}()
	got := l.call(ctx, "execute", "command", "touch "+file+"; exec sleep 1000", "timeout", "1h")
	require.Equal(t, "the call was canceled; the command was not started", got["error"])
	close(late.release)
	<-late.arrived

	_, err := os.Stat(file)
	require.ErrorIs(t, err, os.ErrNotExist)
	page, err := host.List(t.Context(), procmgr.ListRequest{})
	require.NoError(t, err)
	require.Empty(t, page.Processes)
}

// A deadline that passes while the start is still on its way ends nothing: the
// result has the ID under which the command is found once it has arrived.
func TestDeadlineBeforeTheStartArrives(t *testing.T) {
	t.Parallel()
	host := newHost(t, nil)
	var l *local
	var late *lateTransport
	var got map[string]any
	for d, sent := 200*time.Millisecond, false; !sent; d *= 4 { // a busy machine may not have sent it by then
		late = newLate()
		l = &local{t: t, set: newSet(toolset.Static(remote(t, host, nil, &prochttp.ClientOptions{Transport: late})), nil)}
		ctx, cancel := context.WithTimeout(t.Context(), d)
		got = l.call(ctx, "execute", "command", "echo done; exit 3", "timeout", "1h")
		cancel()
		select {
		case <-late.held:
			sent = true
		default:
		}
	}
	require.Equal(t, false, got["success"])
	require.Contains(t, got["error"], "before it was known whether the command has started")
	id := got["process_id"].(string)
	close(late.release)
	<-late.arrived

	got = l.call(t.Context(), "process_output", "process_id", id)
	require.Equal(t, "done\n", got["output"])
	require.EqualValues(t, 3, got["exit_code"])
}

// Stop is pressed after the server has been replaced: it is unknown what has become of
// the command, and "not started" would have it run again.
func TestStopAfterARestart(t *testing.T) {
	t.Parallel()
	servers := make([]http.Handler, 2)
	for i := range servers {
		host := newHost(t, nil)
		var err error
		servers[i], err = prochttp.NewHandler(host, &prochttp.HandlerOptions{Insecure: true})
		require.NoError(t, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var restarted atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case restarted.Load():
			servers[1].ServeHTTP(w, r)
		case r.URL.Path == "/start":
			servers[0].ServeHTTP(httptest.NewRecorder(), r)
			restarted.Store(true)
			stop()
			<-r.Context().Done() // no answer ever comes
		default:
			servers[0].ServeHTTP(w, r)
		}
	}))
	defer server.Close()
	l := &local{t: t, set: newSet(toolset.Static(chatOf(t, server.URL, nil)), fixed())}
	got := l.call(ctx, "execute", "command", "true", "timeout", "1h")
	require.Equal(t, "the call was canceled; it is unknown whether the command ran; check what it would have changed before running it again", got["error"])
	require.Equal(t, "p1", got["process_id"])

	for tool, argument := range map[string]string{"process_output": "0s", "process_signal": "kill"} {
		name := map[string]string{"process_output": "wait_timeout", "process_signal": "signal"}[tool]
		res := l.set.Call(t.Context(), toolset.Call{Name: tool, Arguments: []byte(`{"process_id":"p1","` + name + `":"` + argument + `"}`)})
		require.True(t, res.IsError)
		require.Contains(t, res.Content, "the server was restarted since this process was started")
	}
}
