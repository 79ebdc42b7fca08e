package toolset_test

import (
	"fmt"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
)

// A model waits for a real server's port, and learns which process holds it.
func TestRealPort(t *testing.T) {
	t.Parallel()
	testenv.Programs(t, "python3")
	l := newLocal(t, nil)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := free.Addr().(*net.TCPAddr).Port
	require.NoError(t, free.Close())
	command := fmt.Sprintf("python3 -m http.server --bind 127.0.0.1 %d", port)
	server := l.call(t.Context(), "execute", "command", command, "run_in_background", true)["background_process_id"].(string)
	got := l.call(t.Context(), "process_output", "process_id", server, "wait_for_port", port, "wait_timeout", "60s")
	require.Contains(t, got["note"], fmt.Sprintf("It listens on port %d (127.0.0.1:%d, pid ", port, port))

	got = l.call(t.Context(), "execute", "command", command)
	require.EqualValues(t, 1, got["exit_code"])
	require.Contains(t, got["note"], fmt.Sprintf("Port %d is held by process %s of this chat (%q), pid ", port, server, command))
	l.call(t.Context(), "process_signal", "process_id", server, "signal", "kill")
}
