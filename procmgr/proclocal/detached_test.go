package proclocal_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// leavers are the ways in which scripts leave processes behind. CHILD stands
// for the child's command. Each has the exit code 3, which nothing else has.
var leavers = []struct {
	name, shell, script string
	escapes             bool // leaves the session
}{
	{"x &", "sh", "CHILD & exit 3", false},
	{"(x &)", "sh", "(CHILD &); exit 3", false},
	{"nohup x &", "sh", "nohup sh -c 'CHILD' & exit 3", false},
	{"double fork", "sh", "sh -c 'sh -c \"CHILD\" & exit 0'; exit 3", false},
	{"x | y &", "sh", "CHILD | cat & exit 3", false},
	{"job control", "bash", "set -m; CHILD & exit 3", false},
	{"two of them", "sh", "CHILD & CHILD & exit 3", false},
	{"setsid x &", "sh", "setsid sh -c 'CHILD' & exit 3", true},
}

// The call returns when the shell exits, with its exit code. The processes that
// the shell left are neither killed nor forgotten, and end when they are told
// to.
func TestDetached(t *testing.T) {
	for _, tt := range leavers {
		for _, redirected := range []bool{false, true} {
			name := tt.name
			if redirected {
				name += " redirected"
			}
			t.Run(name, func(t *testing.T) {
				if tt.escapes || strings.Contains(tt.script, "nohup") {
					needs(t, "sessions")
				}
				testenv.Programs(t, tt.shell)
				if tt.escapes {
					testenv.Programs(t, "setsid")
				}
				l := newLocal(t, &proclocal.Options{Shell: []string{tt.shell, "-c"}})
				child := "exec sleep 1000"
				if redirected {
					child += " >/dev/null 2>&1"
				}
				began := time.Now()
				out := run(t, l, strings.ReplaceAll(tt.script, "CHILD", child))
				require.Less(t, time.Since(began), long/2)
				if tt.escapes && redirected {
					// It is neither in the session nor at the pipe. A search
					// finds it soon after, by its cookie.
					eventually(t, "it is found", func() bool {
						out = output(t, l, out.Process.ID, procmgr.OutputRequest{})
						return out.Process.State == procmgr.Detached
					})
				}
				require.Equal(t, procmgr.Detached, out.Process.State)
				require.Equal(t, 3, *out.Process.ExitCode)
				require.Equal(t, procmgr.CauseExit, out.Process.EndedBy)
				require.Zero(t, out.Process.ExitedAt)

				require.Equal(t, procmgr.Detached, list(t, l)[0].State)
				require.NoError(t, l.Signal(t.Context(), out.Process.ID, procmgr.Kill))
				out = ended(t, l, out.Process.ID)
				require.Equal(t, 3, *out.Process.ExitCode, "what ends later does not change the exit code")
				require.Equal(t, procmgr.CauseRequest, out.Process.EndedBy)
			})
		}
	}
}
