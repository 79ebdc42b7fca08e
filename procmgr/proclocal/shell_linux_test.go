package proclocal_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// in returns a Local whose commands run behind a wrapper, in a directory that
// every user can enter.
func in(t testing.TB, wrapper string) *proclocal.Local {
	t.Helper()
	return newLocal(t, &proclocal.Options{
		Shell:   append(strings.Fields(wrapper), "sh", "-c"),
		WorkDir: "/",
	})
}

// markedSleep returns a command that sleeps for longer than a test takes, and a
// text that only its arguments have.
func markedSleep() (command, marker string) {
	marker = "1000." + strconv.FormatInt(time.Now().UnixNano(), 10)
	return "sleep " + marker, marker
}

// gone waits until no process with a text in its arguments lives.
func gone(t testing.TB, marker string) {
	t.Helper()
	eventually(t, "all of it ends", func() bool { return len(marked(marker)) == 0 })
}

// asleep waits until a number of processes have become the sleep with a text in
// its arguments.
func asleep(t testing.TB, marker string, n int) {
	t.Helper()
	eventually(t, "all of them sleep", func() bool {
		sleeping := 0
		for _, pid := range marked(marker) {
			if name, _ := os.ReadFile("/proc/" + pid + "/comm"); string(name) == "sleep\n" {
				sleeping++
			}
		}
		return sleeping == n
	})
}

// asNobody runs the following command as a user without any rights.
const asNobody = "setpriv --reuid=65534 --regid=65534 --clear-groups --"

// A program that sets something up and then becomes the shell changes neither exit
// codes nor signals.
func TestShellWrappers(t *testing.T) {
	for _, tt := range []struct{ name, wrapper, shows, text string }{
		// These are the highest values: an ordinary user can raise its own
		// values, and no more.
		{"both", "nice -n 19 choom -n 1000 --", "nice; cat /proc/self/oom_score_adj", "19\n1000\n"},
		{"another user", asNobody, "id -u; id -g; id -G", "65534\n65534\n65534\n"},
		{"limits", "prlimit --as=2000000000 --cpu=60:65 --", "ulimit -v; ulimit -H -t", "1953125\n65\n"},
		{"time", "timeout 600", "echo on time", "on time\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			testenv.Programs(t, strings.Fields(tt.wrapper)[0], "setsid")
			if tt.wrapper == asNobody {
				testenv.Root(t)
			}
			l := in(t, tt.wrapper)
			require.Equal(t, tt.text, run(t, l, tt.shows).Text)
			p := run(t, l, "kill -KILL $$").Process
			require.Equal(t, 137, *p.ExitCode)
			require.Equal(t, "SIGKILL", p.Signal)
			checkReach(t, l)
			out := run(t, l, "sleep 1000 >/dev/null 2>&1 & exit 3")
			require.Equal(t, procmgr.Detached, out.Process.State)
			require.NoError(t, l.Signal(t.Context(), out.Process.ID, procmgr.Kill))
			require.Equal(t, 3, *ended(t, l, out.Process.ID).Process.ExitCode)
		})
	}
}

// checkReach shows that signals reach a command and its background processes,
// even if these have left its session.
func checkReach(t *testing.T, l *proclocal.Local) {
	t.Helper()
	for _, sig := range []procmgr.Signal{procmgr.Terminate, procmgr.Kill} {
		sleep, marker := markedSleep()
		id := begin(t, l, sleep+" & setsid "+sleep+" >/dev/null 2>&1 & echo ready; wait").Process.ID
		asleep(t, marker, 2)
		require.NoError(t, l.Signal(t.Context(), id, sig))
		require.Equal(t, procmgr.CauseRequest, ended(t, l, id).Process.EndedBy)
		gone(t, marker)
	}
}

// Another user can neither read the host's environment nor signal the host, and
// the host still reaches its process.
func TestShellAnotherUser(t *testing.T) {
	testenv.Root(t)
	testenv.Programs(t, "setpriv", "setsid")
	l := in(t, asNobody)
	out := run(t, l, "cat /proc/$PPID/environ; kill -0 $PPID || echo refused")
	require.Equal(t, 2, strings.Count(strings.ToLower(out.Text), "permission denied")+strings.Count(out.Text, "not permitted"), out.Text)
	require.Contains(t, out.Text, "refused\n")
}
