package toolset_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A note names a command that ended its own shell, for real shells, pkill and
// pgrep. The pattern that it suggests does not end the shell.
func TestLocalSelfKill(t *testing.T) {
	t.Parallel()
	testenv.Programs(t, "pkill")
	for _, shell := range []string{"bash", "dash"} {
		if _, err := exec.LookPath(shell); err != nil {
			continue
		}
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			manager, err := proclocal.New(&proclocal.Options{Shell: []string{shell, "-c"}})
			require.NoError(t, err)
			defer func() { require.NoError(t, manager.Close()) }()
			l := &local{t: t, set: toolset.New(toolset.Static(manager.Chat("chat")), nil)}
			for _, tt := range []struct{ command, signal, search string }{
				{"pkill -f NAME; echo on", "SIGTERM", "pkill"},
				{"pkill -9 -f 'NAME' || true; echo on", "SIGKILL", "pkill"},
				{"kill $(pgrep -f NAME); echo on", "SIGTERM", "pgrep"},
				{"pgrep -f NAME | xargs kill -9; echo on", "SIGKILL", "pgrep"},
				{"pid=$(pgrep -f NAME); kill -9 $pid; echo on", "SIGKILL", "pgrep"},
				{"if pgrep -f NAME; then echo runs; fi", "", "pgrep"},
				{"pgrep -fa NAME; true", "", "pgrep"},
			} {
				// Nothing else on the machine has this in its command line.
				name := "toolproc" + strings.ToLower(procmgr.NewID())
				got := l.call(t.Context(), "execute", "command", strings.ReplaceAll(tt.command, "NAME", name))
				require.NotContains(t, got["output"], "on\n", tt.command)
				if tt.signal != "" {
					require.Equal(t, tt.signal, got["signal"], tt.command)
					require.Equal(t, "ended by "+tt.signal, got["error"], tt.command)
				}
				require.Contains(t, got["note"], "`"+tt.search+" -f "+name+"`", tt.command)
				other := "[t]" + name[1:]
				require.Contains(t, got["note"], tt.search+" -f '"+other+"'", tt.command)

				got = l.call(t.Context(), "execute", "command", strings.ReplaceAll(strings.ReplaceAll(tt.command, "'NAME'", "NAME"), "NAME", "'"+other+"'"))
				require.NotContains(t, got, "signal", tt.command)
				require.NotContains(t, got, "note", tt.command)
				require.NotContains(t, got["output"], "runs", tt.command)
			}
			got := l.call(t.Context(), "execute", "command", "kill -9 $$")
			require.Equal(t, "ended by SIGKILL", got["error"], "a tool of ours is not the only one")
		})
	}
}
