package procstat_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr/internal/procstat"
)

func TestLook(t *testing.T) {
	own, ok := procstat.Look(os.Getpid())
	require.True(t, ok)
	require.False(t, own.Ended())
	sid, err := unix.Getsid(0)
	require.NoError(t, err)
	require.Equal(t, sid, own.Session)
	_, ok = procstat.Look(1 << 30)
	require.False(t, ok)

	// The name may have spaces and parentheses.
	require.NoError(t, os.WriteFile("/proc/self/comm", []byte("a) Z 1 ("), 0o600))
	again, ok := procstat.Look(os.Getpid())
	require.True(t, ok)
	require.Equal(t, own.Start, again.Start)
	require.False(t, again.Ended())

	use, ok := procstat.LookUse(os.Getpid())
	require.True(t, ok)
	require.Equal(t, "a) Z 1 (", use.Name)
	require.Equal(t, os.Getppid(), use.Parent)
	require.Greater(t, use.Memory, int64(1<<20))
	_, ok = procstat.LookUse(1 << 30)
	require.False(t, ok)
}

// A process that has ended is told until it is reaped, and begins when it did.
func TestEnded(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	require.NoError(t, cmd.Start())
	alive, ok := procstat.Look(cmd.Process.Pid)
	require.True(t, ok)
	require.NoError(t, cmd.Process.Kill())
	require.Eventually(t, func() bool { p, ok := procstat.Look(cmd.Process.Pid); return ok && p.Ended() }, 20*time.Second, time.Millisecond)
	p, _ := procstat.Look(cmd.Process.Pid)
	require.Equal(t, alive.Start, p.Start)
	require.Equal(t, cmd.Process.Pid, p.Session)
	require.Error(t, cmd.Wait())
	_, ok = procstat.Look(cmd.Process.Pid)
	require.False(t, ok)
}
