package toolset_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
)

// Real programs ask and get no answer: the result says so.
func TestLocalQuestions(t *testing.T) {
	t.Parallel()
	const (
		stdin  = "can't be answered because stdin is empty"
		commit = "git init -q . && git config user.name a && git config user.email a@b && git commit -q --allow-empty -m a && git commit -q --allow-empty -m b && "
	)
	for _, tt := range []struct {
		name, program, command string
		success                bool
		want                   string
	}{
		{"npm", "npm", "HOME=$PWD npm init", false, stdin},
		{"getpass", "python3", `python3 -c 'import getpass; getpass.getpass("Token: ")'`, false, "asked for a password"},
		{"input", "python3", `python3 -c 'input("Name: ")'`, false, stdin},
		{"rm", "rm", "touch f; rm -i f", true, stdin},
		{"rm in the middle", "rm", "touch f; rm -i f; ls", true, stdin},
		{"git add", "git", commit + "echo a > f && git add f && git commit -q -m c && echo b > f && git add -p", true, stdin},
		{"git rebase", "git", commit + "git rebase -i HEAD~1", true, "No one has edited the list"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			testenv.Programs(t, tt.program)
			l := newLocal(t, withInput)
			got := l.call(t.Context(), "execute", "command", tt.command, "timeout", "1m")
			require.Equal(t, tt.success, got["success"], got)
			require.Equal(t, tt.want == stdin, strings.Contains(fmt.Sprint(got["note"]), `start it again with stdin "open", and answer with process_input`))
			require.Contains(t, got["note"], tt.want, got)
		})
	}
}

// A model waits for a real server's port. A second server of the chat is told who has that,
// in its own result or in its notice.
func TestRealPort(t *testing.T) {
	t.Parallel()
	testenv.Programs(t, "python3")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := free.Addr().(*net.TCPAddr).Port
	require.NoError(t, free.Close())
	host := newHost(t, nil)
	l := &local{t: t, set: newSet(toolset.Static(host.Chat("a")), nil)}
	server := fmt.Sprintf("python3 -m http.server %d --bind 127.0.0.1", port)
	started := l.call(t.Context(), "execute", "command", server, "run_in_background", true)
	require.NotContains(t, started["note"], "The same command")
	first := started["process_id"]
	got := l.call(t.Context(), "process_output", "process_id", first, "wait_for_port", port, "wait_timeout", "1m")
	require.Contains(t, got["note"], fmt.Sprintf("It listens on port %d (127.0.0.1:%d, pid ", port, port))

	second := l.call(t.Context(), "execute", "command", server, "timeout", "1m")
	require.Contains(t, second["note"], fmt.Sprintf("The same command already runs in this directory, as process %s.", first))
	require.Contains(t, second["note"], fmt.Sprintf("Process %s (%q) of this chat listens on port %d.", first, server, port))

	elsewhere := l.call(t.Context(), "execute", "command", server, "workdir", t.TempDir(), "timeout", "1m")
	require.NotContains(t, elsewhere["note"], "The same command")
	third := l.call(t.Context(), "execute", "command", "sleep 0.5; "+server, "run_in_background", true)
	_, err = host.Output(t.Context(), third["process_id"].(string), procmgr.OutputRequest{Wait: time.Minute})
	require.NoError(t, err)
	res := l.set.Call(t.Context(), toolset.Call{Name: "execute", Arguments: []byte(`{"command":"true"}`)})
	require.Contains(t, strings.Join(res.Report.Meanwhile, "\n"), fmt.Sprintf("; process %s (%q) of this chat listens on port %d", first, server, port))

	other := &local{t: t, set: newSet(toolset.Static(host.Chat("b")), nil)}
	require.NotContains(t, fmt.Sprint(other.call(t.Context(), "execute", "command", server, "timeout", "1m")["note"]), first)
}
