package proclocal_test

import (
	"context"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// Close of many processes, with twice as many others beside them, takes
// little longer than to kill as many children and to wait for them. If all
// of them ignore SIGTERM, StopGrace comes on top.
func TestHeldCloseOfMany(t *testing.T) {
	testenv.Held(t)
	many := testenv.Rounds(100, 1000)
	for range 2 * many {
		cmd := exec.Command("sleep", "1000")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			require.NoError(t, cmd.Process.Kill())
			require.Error(t, cmd.Wait())
		})
	}
	children := startPlain(t, many)
	began := time.Now()
	for _, c := range children {
		c.kill()
	}
	for _, c := range children {
		c.end(t)
	}
	plain := time.Since(began)

	const grace = time.Second
	for _, tt := range []struct {
		name, command string
		within        time.Duration
	}{
		{"that end at SIGTERM", "echo ready; exec sleep 1000", time.Second},
		{"that ignore SIGTERM", "trap '' TERM; echo ready; exec sleep 1000", 2*grace + 2*time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, err := proclocal.New(&proclocal.Options{MaxRunning: -1, MaxRunningPerChat: -1, StopGrace: grace})
			require.NoError(t, err)
			ids := make([]string, many)
			for i := range ids {
				out := start(t, l, procmgr.StartRequest{Command: tt.command})
				ids[i] = out.Process.ID
			}
			for _, id := range ids {
				ready(t, l, id, "ready")
			}
			began := time.Now()
			require.NoError(t, l.Close())
			took := time.Since(began)
			t.Logf("%v; to kill %d children took %v", took, many, plain)
			require.Less(t, took, tt.within+10*plain, "a busy machine is slow with children, too")
			page, err := l.List(context.Background(), procmgr.ListRequest{})
			all := page.Processes
			require.NoError(t, err)
			for _, p := range all {
				require.Equal(t, procmgr.Exited, p.State)
			}
		})
	}
}
