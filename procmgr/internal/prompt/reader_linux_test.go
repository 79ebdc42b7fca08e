package prompt_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
