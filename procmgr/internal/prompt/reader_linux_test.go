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
	waits := func() bool { return p.At([]int{pid}, prompt.Mode{Group: pid}) != nil }
	require.Eventually(t, waits, long, time.Millisecond)
	require.Nil(t, p.At([]int{pid}, prompt.Mode{Group: pid + 1}), "another group is in the foreground")
	other, theirs, err := pty.Open()
	require.NoError(t, err)
	defer other.Close()
	defer theirs.Close()
	q, err := prompt.PlaceOf(int(other.Fd()), true)
	require.NoError(t, err)
	require.Nil(t, q.At([]int{pid}, prompt.Mode{Group: pid}), "it is another terminal")
}

// A program turns the echo off in the midst of a look, and then waits: it must not be
// taken for one whose answer may be seen.
func TestModeChangesDuringALook(t *testing.T) {
	t.Parallel()
	cmd, out := start(t, "exec cat")
	conn, err := out.SyscallConn()
	require.NoError(t, err)
	reader := new(prompt.Reader)

	pids := func() []int { return []int{cmd.Process.Pid} }
	open := func() (prompt.Mode, bool) { return prompt.Mode{}, true }
	require.Eventually(t, func() bool { return reader.Waits(conn, false, open, pids) != nil }, long, time.Millisecond)

	reader = new(prompt.Reader) // one that has not looked yet
	calls := 0
	change := func() (prompt.Mode, bool) {
		calls++
		return prompt.Mode{Secret: calls > 1}, true
	}
	require.Nil(t, reader.Waits(conn, false, change, pids))
	var found *prompt.Found
	require.Eventually(t, func() bool { // the look before it ends a moment after its answer
		found = reader.Waits(conn, false, change, pids)
		return found != nil
	}, long, time.Millisecond)
	require.True(t, found.Secret)
}

// A program that was written to does not wait any longer, although on a busy machine it
// may not have run since.
func TestWokenButNotRun(t *testing.T) {
	cmd, out := start(t, "exec cat")
	pid := cmd.Process.Pid
	var cpus, one unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &cpus))
	for cpu := range 1024 {
		if cpus.IsSet(cpu) {
			one.Set(cpu)
			break
		}
	}
	busy := exec.Command("sh", "-c", "while :; do :; done")
	run(t, busy)
	for _, p := range []int{pid, busy.Process.Pid} {
		require.NoError(t, unix.SchedSetaffinity(p, &one))
	}
	require.NoError(t, unix.Setpriority(unix.PRIO_PROCESS, pid, 19))
	conn, err := out.SyscallConn()
	require.NoError(t, err)
	reader := new(prompt.Reader)
	waits := func() bool {
		mode := func() (prompt.Mode, bool) { return prompt.Mode{}, true }
		return reader.Waits(conn, false, mode, func() []int { return []int{pid} }) != nil
	}
	unread := 0
	for range 50 {
		require.Eventually(t, waits, long, time.Millisecond)
		_, err := out.WriteString("x")
		require.NoError(t, err)
		waits := waits()
		left, err := unix.IoctlGetInt(int(out.Fd()), unix.TIOCINQ)
		require.NoError(t, err)
		if left > 0 {
			unread++
			require.False(t, waits, "it has not read what woke it")
		}
	}
	t.Logf("it had not read %d of 50 inputs", unread)
}
