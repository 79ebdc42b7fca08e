package procstat_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
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
	require.False(t, own.Unborn)
	require.False(t, own.Ended())
	sid, err := unix.Getsid(0)
	require.NoError(t, err)
	require.Equal(t, sid, own.Session)
	require.True(t, procstat.Is(os.Getpid(), own.Start))
	require.False(t, procstat.Is(os.Getpid(), own.Start+1))
	require.True(t, procstat.Is(os.Getpid(), 0))
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
	require.False(t, alive.Stopped())
	require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
	require.Eventually(t, func() bool { p, ok := procstat.Look(cmd.Process.Pid); return ok && p.Stopped() }, 20*time.Second, time.Millisecond)
	require.NoError(t, cmd.Process.Kill())
	require.Eventually(t, func() bool { p, ok := procstat.Look(cmd.Process.Pid); return ok && p.Ended() }, 20*time.Second, time.Millisecond)
	p, _ := procstat.Look(cmd.Process.Pid)
	require.Equal(t, alive.Start, p.Start)
	require.Equal(t, cmd.Process.Pid, p.Session)
	require.False(t, p.Unborn, "it has reached its exec")
	require.Error(t, cmd.Wait())
	_, ok = procstat.Look(cmd.Process.Pid)
	require.False(t, ok)
}

// A child that was killed between its fork and its exec is told from one that has
// begun: here a subshell, which never has an exec.
func TestUnborn(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.Command("/bin/sh", "-c", "(while :; do sleep 1000; done) & echo $!; exec sleep 1000")
	cmd.Stdout = w
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, cmd.Start())
	require.NoError(t, w.Close())
	text := make([]byte, 32)
	n, err := r.Read(text)
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	require.NoError(t, err)
	p, ok := procstat.Look(pid)
	require.True(t, ok)
	require.True(t, p.Unborn)
	require.Eventually(t, func() bool {
		name, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/comm")
		return err == nil && string(name) == "sleep\n"
	}, 20*time.Second, time.Millisecond)
	p, ok = procstat.Look(cmd.Process.Pid)
	require.True(t, ok)
	require.False(t, p.Unborn)
	// The shell has become sleep, which does not reap its child.
	require.NoError(t, unix.Kill(pid, unix.SIGKILL))
	require.Eventually(t, func() bool { p, ok := procstat.Look(pid); return ok && p.Ended() && p.Unborn }, 20*time.Second, time.Millisecond)
	require.NoError(t, unix.Kill(-cmd.Process.Pid, unix.SIGKILL))
	require.Error(t, cmd.Wait())
	require.NoError(t, r.Close())
}
