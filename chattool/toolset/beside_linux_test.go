package toolset_test

import (
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
)

// A second server of the chat is told who has its port, in its own result or in its notice.
func TestLocalPortIsTaken(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not there")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := free.Addr().(*net.TCPAddr).Port
	require.NoError(t, free.Close())
	host := newHost(t, nil)
	l := &local{t: t, set: newSet(toolset.Static(host.Chat("a")), nil)}
	server := fmt.Sprintf("python3 -m http.server %d --bind 127.0.0.1", port)
	first := l.call(t.Context(), "execute", "command", server, "run_in_background", true)["process_id"]
	l.call(t.Context(), "process_output", "process_id", first, "wait_for_port", port, "wait_timeout", "1m")

	second := l.call(t.Context(), "execute", "command", server, "timeout", "1m")
	require.Contains(t, second["note"], fmt.Sprintf("The same command already runs in this directory, as process %s.", first))
	require.Contains(t, second["note"], fmt.Sprintf("Process %s (%q) of this chat listens on port %d.", first, server, port))

	third := l.call(t.Context(), "execute", "command", "sleep 0.5; "+server, "run_in_background", true)
	_, err = host.Output(t.Context(), third["process_id"].(string), procmgr.OutputRequest{Wait: time.Minute})
	require.NoError(t, err)
	res := l.set.Call(t.Context(), toolset.Call{Name: "execute", Arguments: []byte(`{"command":"true"}`)})
	require.Contains(t, strings.Join(res.Report.Meanwhile, "\n"), fmt.Sprintf("; process %s (%q) of this chat listens on port %d", first, server, port))

	other := &local{t: t, set: newSet(toolset.Static(host.Chat("b")), nil)}
	require.NotContains(t, fmt.Sprint(other.call(t.Context(), "execute", "command", server, "timeout", "1m")["note"]), first)
}

func TestLocalSameCommand(t *testing.T) {
	t.Parallel()
	l := newLocal(t, nil)
	run := func(pairs ...any) string {
		return fmt.Sprint(l.call(t.Context(), "execute", append(pairs, "command", "sleep 1000", "run_in_background", true)...)["note"])
	}
	const same = "The same command already runs in this directory"
	require.NotContains(t, run(), same)
	require.Contains(t, run(), same)
	require.NotContains(t, run("workdir", "/"), same)
}
