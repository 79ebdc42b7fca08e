package toolset_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A command that is stopped looks like one that waits for an answer. The note
// says what it is, and not that it waits.
func TestLocalStopped(t *testing.T) {
	t.Parallel()
	manager, err := proclocal.New(nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, manager.Close()) }()
	l := &local{t: t, set: toolset.New(toolset.Static(manager.Chat("chat")), nil)}
	got := l.call(t.Context(), "execute", "command", "printf 'Overwrite? '; kill -STOP $$; echo on", "timeout", "1500ms")
	require.Contains(t, got["note"], "is stopped by a signal (SIGSTOP, SIGTSTP, SIGTTIN or SIGTTOU)")
	require.NotContains(t, got["note"], "answer")
	id, ok := got["background_process_id"].(string)
	require.True(t, ok)
	out, err := manager.Chat("chat").Output(t.Context(), id, procmgr.OutputRequest{})
	require.NoError(t, err)
	require.True(t, out.Process.Stopped)

	// What the note says continues it.
	l.call(t.Context(), "execute", "command", "kill -s CONT -- -"+strconv.Itoa(out.Process.PID))
	got = l.call(t.Context(), "process_output", "process_id", id, "wait_for", "on$")
	require.NotContains(t, got["note"], "stopped")
	require.Contains(t, got["output"], "on\n")
}
