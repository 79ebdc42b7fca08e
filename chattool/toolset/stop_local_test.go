//go:build linux || darwin || freebsd

package toolset_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// Ctrl-C ends the commands of a turn. The dev server of the turn before goes on, and so
// does a daemon that a script has left behind with setsid.
func TestLocalStop(t *testing.T) {
	t.Parallel()
	host := newHost(t, nil)
	l := &local{t: t, set: newSet(toolset.Static(host.Chat("a")), nil)}
	state := func(id any) procmgr.State {
		out, err := host.Output(t.Context(), id.(string), procmgr.OutputRequest{})
		require.NoError(t, err)
		return out.Process.State
	}
	server := l.call(t.Context(), "execute", "command", "sleep 1000", "run_in_background", true)["process_id"]
	long := l.call(t.Context(), "execute", "command", "sleep 1000", "timeout", "10ms")["process_id"]
	left := l.call(t.Context(), "execute", "command", "setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo $!; exit", "timeout", "1m")["process_id"]
	other, err := host.Chat("b").Start(t.Context(), procmgr.StartRequest{Command: "sleep 1000"})
	require.NoError(t, err)

	var calls sync.WaitGroup
	var stopped map[string]any
	calls.Go(func() {
		stopped = l.call(t.Context(), "execute", "command", "trap '' TERM; echo ready; while :; do sleep 1000; done", "timeout", "1h")
	})
	var stubborn string
	require.Eventually(t, func() bool {
		page, err := host.Chat("a").List(t.Context(), procmgr.ListRequest{State: procmgr.Running})
		require.NoError(t, err)
		stubborn = page.Processes[0].ID // the newest
		return len(page.Processes) == 3
	}, time.Minute, time.Millisecond)
	_, err = host.Output(t.Context(), stubborn, procmgr.OutputRequest{Until: "ready", Wait: time.Minute})
	require.NoError(t, err)

	ended, err := l.set.Stop(t.Context())
	require.NoError(t, err)
	calls.Wait()
	require.Len(t, ended, 2)
	require.Equal(t, procmgr.Exited, state(long))
	require.Equal(t, procmgr.Exited, state(stubborn))
	require.Equal(t, "stopped by the user; the command was killed, since it did not end when asked to", stopped["error"])
	require.Equal(t, procmgr.Running, state(server))
	require.Equal(t, procmgr.Detached, state(left))
	require.Equal(t, procmgr.Running, state(other.Process.ID))
	require.Regexp(t, long.(string)+` \("sleep 1000"\) exited with code \d+ after \S+: stopped by the user`, fmt.Sprint(stopped["meanwhile"], l.call(t.Context(), "execute", "command", "true")["meanwhile"]))
}

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
