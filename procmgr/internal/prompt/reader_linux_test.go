package prompt_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr/internal/prompt"
)

// A program turns the echo off in the midst of a look, and then waits: it must not be
// taken for one whose answer may be seen.
func TestModeChangesDuringALook(t *testing.T) {
	t.Parallel()
	in, out, err := os.Pipe()
	require.NoError(t, err)
	defer out.Close()
	cmd := exec.CommandContext(t.Context(), "cat")
	cmd.Stdin = in
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	require.NoError(t, in.Close())
	conn, err := out.SyscallConn()
	require.NoError(t, err)
	reader := new(prompt.Reader)

	pids := func() []int { return []int{cmd.Process.Pid} }
	open := func() (prompt.Mode, bool) { return prompt.Mode{}, true }
	require.Eventually(t, func() bool { return reader.Waits(conn, false, open, pids) != nil }, 30*time.Second, time.Millisecond)

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
	}, 30*time.Second, time.Millisecond)
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
