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

// leavers are the ways of shells and of daemons in which scripts leave processes behind.
// CHILD stands for the child's command. Each has the exit code 3, which nothing else has.
var leavers = []struct {
	name, script string
	escapes      bool // leaves the session
}{
	{"x &", "CHILD & exit 3", false},
	{"(x &)", "(CHILD &); exit 3", false},
	{"((x &) &)", "( (CHILD &) & ); exit 3", false},
	{"{ x; } &", "{ CHILD; } & exit 3", false},
	{"nohup x &", "nohup sh -c 'CHILD' & exit 3", false},
	{"trapped HUP", "(trap '' HUP; CHILD) & exit 3", false},
	{"double fork", "sh -c 'sh -c \"CHILD\" & exit 0'; exit 3", false},
	{"x | y &", "CHILD | cat & exit 3", false},
	{"from a substitution", "x=$(CHILD >&2 & echo 1); exit 3", false},
	{"two of them", "CHILD & CHILD & exit 3", false},
	{"setsid x &", "setsid sh -c 'CHILD' & exit 3", true},
	{"setsid -f", "setsid -f sh -c 'CHILD'; exit 3", true},
	{"daemon", "(setsid sh -c '(CHILD) & exit 0' &); exit 3", true},
	{"daemon in /", "cd /; umask 0; setsid sh -c 'sh -c \"CHILD\" & exit 0' </dev/null & exit 3", true},
	{"sessions in a chain", "setsid setsid -f setsid -f sh -c 'CHILD'; exit 3", true},
}

// The call returns when the shell exits, with its exit code. The processes that
// the shell left are neither killed nor forgotten, and end when they are told
// to.
func TestDetached(t *testing.T) {
	detached(t, "sh")
	detached(t, "bash -m") // job control
}

func TestHeldDetached(t *testing.T) {
	testenv.Held(t)
	detached(t, "bash")
}

func detached(t *testing.T, shell string) {
	t.Helper()
	words := strings.Fields(shell)
	for _, tt := range leavers {
		for _, redirected := range []bool{false, true} {
			name := shell + " " + tt.name
			if redirected {
				name += " redirected"
			}
			t.Run(name, func(t *testing.T) {
				if tt.escapes || strings.Contains(tt.script, "nohup") || strings.Contains(tt.script, "trap") {
					needs(t, "sessions")
				}
				if shell != "sh" {
					needs(t, "job control")
				}
				testenv.Programs(t, words[0])
				if tt.escapes {
					testenv.Programs(t, "setsid")
				}
				l := newLocal(t, &proclocal.Options{Shell: append(words, "-c")})
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
