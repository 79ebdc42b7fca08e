//go:build linux || darwin || freebsd

package toolset_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// The same test with a manager on this machine, and over HTTP.
func TestRealErrorsAreForAModel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	missing := filepath.Join(dir, "missing")
	for _, wire := range []bool{false, true} {
		t.Run(fmt.Sprint("over HTTP: ", wire), func(t *testing.T) {
			t.Parallel()
			host := func(opts *proclocal.Options) (*proclocal.Local, procmgr.Manager) {
				local := newHost(t, opts)
				if !wire {
					return local, local.Chat("a")
				}
				return local, remote(t, local, nil, &prochttp.ClientOptions{Retry: -1})
			}
			_, small := host(&proclocal.Options{MaxRunningPerChat: 1})
			_, err := small.Start(t.Context(), procmgr.StartRequest{ID: "sleeper", Command: "exec sleep 1000"})
			require.NoError(t, err)
			shell := filepath.Join(dir, fmt.Sprint("no-shell-", wire))
			require.NoError(t, os.WriteFile(shell, nil, 0o700))
			_, noShell := host(&proclocal.Options{Shell: []string{shell, "-c"}})
			require.NoError(t, os.Remove(shell))
			closedLocal, closed := host(nil)
			require.NoError(t, closedLocal.Close())
			_, m := host(nil)
			require.Error(t, m.Signal(t.Context(), "spent", procmgr.Kill))
			_, err = m.Start(t.Context(), procmgr.StartRequest{ID: "used", Command: "true"})
			require.NoError(t, err)

			for _, tt := range []struct {
				name, id        string
				m               procmgr.Manager
				tool, arguments string
				want            string
			}{
				{"no such directory", "new", m, "execute", arguments(t, "command", "true", "workdir", missing), "nothing was started: no such directory: " + missing},
				{"a file as the directory", "new", m, "execute", arguments(t, "command", "true", "workdir", file), "not a directory: " + file},
				{"a NUL in the command", "new", m, "execute", arguments(t, "command", "a\x00b"), "the command has a NUL byte"},
				{"a long command", "new", m, "execute", arguments(t, "command", strings.Repeat("a", 200<<10)), "write it"},
				{"no shell", "new", noShell, "execute", `{"command":"true"}`, "is not there"},
				{"too many", "new", small, "execute", `{"command":"true"}`, "nothing was started: 1 process runs in this chat, and its limit is 1; end one of this chat's first (it is sleeper)." +
					" process_list lists the processes of this chat, and process_signal ends one"},
				{"closed", "new", closed, "execute", `{"command":"true"}`, "the process manager is closed"},
				{"another command", "used", m, "execute", `{"command":"false"}`, "belongs to another command"},
				{"stopped before", "spent", m, "execute", `{"command":"true"}`, "stopped before it began"},
				{"a bad id", "a b", m, "execute", `{"command":"true"}`, "a character other than"},
				{"no process", "", m, "process_output", `{"process_id":"nobody"}`, "there is no process nobody"},
				{"no pattern", "", m, "process_output", `{"process_id":"used","wait_for":"("}`, "no RE2 expression"},
				{"a long pattern", "", m, "process_output", arguments(t, "process_id", "used", "wait_for", strings.Repeat("a", 300)), "at most 256 are allowed"},
				{"no process to signal", "", m, "process_signal", `{"process_id":"nobody","signal":"interrupt"}`, "there is no process nobody"},
			} {
				t.Run(tt.name, func(t *testing.T) {
					if tt.name == "a long command" && runtime.GOOS != "linux" {
						t.Skip("the system's limit is another one")
					}
					opts := &toolset.Options{ProcessID: func(context.Context, toolset.Call) string { return tt.id }}
					res, got := call(t, tt.m, opts, tt.tool, tt.arguments)
					require.True(t, res.IsError, res.Content)
					require.Contains(t, got["error"], tt.want)
					requirePlain(t, res.Content, "new", "used", "spent", "nobody", "sleeper")
				})
			}
		})
	}
}
