package osproc_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/internal/osproc"
	"github.com/toolproc/toolproc/procmgr/internal/waiting"
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
	readers := &osproc.Readers{Conn: conn}

	open := func() (waiting.Mode, bool) { return waiting.Mode{}, true }
	require.Eventually(t, func() bool { return readers.Waits(open, cmd.Process.Pid) != nil }, 30*time.Second, time.Millisecond)

	readers = &osproc.Readers{Conn: conn} // one that has not looked yet
	calls := 0
	change := func() (waiting.Mode, bool) {
		calls++
		return waiting.Mode{Secret: calls > 1}, true
	}
	require.Nil(t, readers.Waits(change, cmd.Process.Pid))
	var found *waiting.Found
	require.Eventually(t, func() bool { // the look before it ends a moment after its answer
		found = readers.Waits(change, cmd.Process.Pid)
		return found != nil
	}, 30*time.Second, time.Millisecond)
	require.True(t, found.Secret)
}
