//go:build linux || darwin || freebsd

package toolset_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
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
	require.Contains(t, fmt.Sprint(stopped["meanwhile"], l.call(t.Context(), "execute", "command", "true")["meanwhile"]), long.(string)+` ("sleep 1000") was stopped by the user`)
}
