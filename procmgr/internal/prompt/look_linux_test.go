package prompt_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr/internal/prompt"
)

// long is a time that a test reaches only if something is wrong.
const long = time.Minute

// start starts a command on a pipe and returns the other end of the pipe.
func start(t *testing.T, command string) (cmd *exec.Cmd, in *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	cmd = exec.Command("sh", "-c", command)
	cmd.Stdin = r
	run(t, cmd)
	require.NoError(t, r.Close())
	t.Cleanup(func() { _ = w.Close() })
	return cmd, w
}

// run starts a command in a session of its own, and ends it with the test.
func run(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
		_ = cmd.Wait()
	})
}

// found looks until a process waits at a place.
func found(t *testing.T, p prompt.Place, pid int, mode prompt.Mode) *prompt.Found {
	t.Helper()
	for began := time.Now(); time.Since(began) < long; time.Sleep(time.Millisecond) {
		if f := p.At([]int{pid}, mode); f != nil {
			return f
		}
	}
	require.Fail(t, "it is never found")
	return nil
}

// A process is found as long as it reads, and only at its own place.
func TestPipe(t *testing.T) {
	cmd, in := start(t, "read -r x; exec sleep 600")
	_, other := start(t, "exec sleep 600")
	here, err := prompt.PlaceOf(int(in.Fd()), false)
	require.NoError(t, err)
	there, err := prompt.PlaceOf(int(other.Fd()), false)
	require.NoError(t, err)
	require.NotEqual(t, here, there)
	l := found(t, here, cmd.Process.Pid, prompt.Mode{})
	require.Equal(t, cmd.Process.Pid, l.PID)
	require.Equal(t, "sh", l.Program)
	require.False(t, l.Secret)
	require.Nil(t, there.At([]int{cmd.Process.Pid}, prompt.Mode{}))

	require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
	gone := func() bool { return here.At([]int{cmd.Process.Pid}, prompt.Mode{}) == nil }
	require.Eventually(t, gone, long, time.Millisecond, "it is stopped")
	require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
	found(t, here, cmd.Process.Pid, prompt.Mode{})
	_, err = in.WriteString("x\n")
	require.NoError(t, err)
	require.Eventually(t, gone, long, time.Millisecond)
	require.Nil(t, here.At([]int{1 << 30}, prompt.Mode{}), "there is no such process")
}

// Of a terminal, the group in the foreground counts, and its own name too.
func TestTerminal(t *testing.T) {
	master, slave, err := pty.Open()
	require.NoError(t, err)
	defer master.Close()
	cmd := exec.Command("sh", "-c", "read -r x </dev/tty")
	cmd.Stdin, cmd.SysProcAttr = slave, &syscall.SysProcAttr{Setsid: true, Setctty: true}
	run(t, cmd)
	require.NoError(t, slave.Close())
	p, err := prompt.PlaceOf(int(master.Fd()), true)
	require.NoError(t, err)
	pid := cmd.Process.Pid
	l := found(t, p, pid, prompt.Mode{Group: pid, Secret: true})
	require.True(t, l.Secret)
	require.Nil(t, p.At([]int{pid}, prompt.Mode{Group: pid + 1}), "another group is in the foreground")
	other, theirs, err := pty.Open()
	require.NoError(t, err)
	defer other.Close()
	defer theirs.Close()
	q, err := prompt.PlaceOf(int(other.Fd()), true)
	require.NoError(t, err)
	require.Nil(t, q.At([]int{pid}, prompt.Mode{Group: pid}), "it is another terminal")
}

// A name that a program has forged stands on one line, without controls.
func TestName(t *testing.T) {
	cmd, in := start(t, `printf 'a\033[2J\nb' >/proc/$$/comm; read -r x; true`)
	p, err := prompt.PlaceOf(int(in.Fd()), false)
	require.NoError(t, err)
	require.Equal(t, "a[2Jb", found(t, p, cmd.Process.Pid, prompt.Mode{}).Program)
}
