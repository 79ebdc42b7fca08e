package proclocal_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
		WorkDir: func() string { return "/" },
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

// A program that sets something up and then becomes the shell makes no
// difference for the manager.
func TestShellWrappers(t *testing.T) {
	for _, tt := range []struct{ name, wrapper, shows, text string }{
		// These are the highest values: an ordinary user can raise its own
		// values, and no more.
		{"niceness", "nice -n 19", "nice", "19\n"},
		{"OOM score", "choom -n 1000 --", "cat /proc/self/oom_score_adj", "1000\n"},
		{"both", "nice -n 19 choom -n 1000 --", "nice; cat /proc/self/oom_score_adj", "19\n1000\n"},
		{"another user", asNobody, "id -u; id -g; id -G", "65534\n65534\n65534\n"},
		{"address space", "prlimit --as=2000000000 --", "ulimit -v", "1953125\n"},
		{"data", "prlimit --data=1000000000 --", "ulimit -d", "976562\n"},
		{"CPU time", "prlimit --cpu=60:65 --", "ulimit -S -t; ulimit -H -t", "60\n65\n"},
		{"I/O class", "ionice -c 3", "ionice", "idle\n"},
		{"time", "timeout 600", "echo on time", "on time\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			testenv.Programs(t, strings.Fields(tt.wrapper)[0], "setsid")
			if tt.wrapper == asNobody {
				testenv.Root(t)
			}
			l := in(t, tt.wrapper)
			require.Equal(t, tt.text, run(t, l, tt.shows).Text)
			checkExits(t, l)
			checkReach(t, l)
		})
	}
}

// checkExits shows that exit codes and signals arrive unchanged, and so does
// all of the output.
func checkExits(t *testing.T, l *proclocal.Local) {
	t.Helper()
	for _, tt := range []struct {
		command, signal string
		code            int
		cause           procmgr.Cause
	}{
		{"true", "", 0, procmgr.CauseExit},
		{"exit 3", "", 3, procmgr.CauseExit},
		{"toolproc-no-such-command", "", 127, procmgr.CauseExit},
		{"sh -c 'kill -TERM $$'; exit $?", "", 143, procmgr.CauseExit},
		{"kill -TERM $$", "SIGTERM", 143, procmgr.CauseSignal},
		{"kill -KILL $$", "SIGKILL", 137, procmgr.CauseSignal},
	} {
		out := run(t, l, tt.command)
		require.Equal(t, procmgr.Exited, out.Process.State, tt.command)
		require.Equal(t, tt.code, *out.Process.ExitCode, tt.command)
		require.Equal(t, tt.signal, out.Process.Signal, tt.command)
		require.Equal(t, tt.cause, out.Process.EndedBy, tt.command)
		require.False(t, out.Process.OOM, tt.command)
	}
	checkOutput(t, l)
}

// checkOutput shows that the last byte is there when the call returns.
func checkOutput(t *testing.T, l *proclocal.Local) {
	t.Helper()
	out := run(t, l, `head -c 3000000 /dev/zero | tr '\0' x; echo; echo end`)
	require.Equal(t, int64(3000005), out.Next)
	require.True(t, strings.HasSuffix(out.Text, "\nend\n"))
}

// checkReach shows that signals reach the command, its background processes,
// those that have left its session, and those that it has left behind. It also
// shows that a handler runs.
func checkReach(t *testing.T, l *proclocal.Local) {
	t.Helper()
	for _, sig := range []procmgr.Signal{procmgr.Terminate, procmgr.Kill} {
		sleep, marker := markedSleep()
		out := begin(t, l, sleep+" & setsid "+sleep+" >/dev/null 2>&1 & echo ready; wait")
		asleep(t, marker, 2)
		require.NoError(t, l.Signal(t.Context(), out.Process.ID, sig))
		out = ended(t, l, out.Process.ID)
		require.Equal(t, map[procmgr.Signal]string{procmgr.Terminate: "SIGTERM", procmgr.Kill: "SIGKILL"}[sig], out.Process.Signal)
		require.Equal(t, procmgr.CauseRequest, out.Process.EndedBy)
		gone(t, marker)

		sleep, marker = markedSleep()
		out = run(t, l, sleep+" & "+sleep+" >/dev/null 2>&1 & exit 3")
		require.Equal(t, procmgr.Detached, out.Process.State)
		require.Equal(t, 3, *out.Process.ExitCode)
		require.NoError(t, l.Signal(t.Context(), out.Process.ID, sig))
		require.Equal(t, 3, *ended(t, l, out.Process.ID).Process.ExitCode)
		gone(t, marker)
	}
	out := begin(t, l, "trap 'echo bye; exit 9' TERM; echo ready; while :; do sleep 0.01; done")
	require.NoError(t, l.Signal(t.Context(), out.Process.ID, procmgr.Terminate))
	out = ended(t, l, out.Process.ID)
	require.Equal(t, 9, *out.Process.ExitCode)
	require.Contains(t, out.Text, "bye\n")
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

	t.Run("a directory of the host's", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "own")
		require.NoError(t, os.Mkdir(dir, 0o700))
		out, err := l.Start(t.Context(), procmgr.StartRequest{Command: "pwd; ls .; echo $?", WorkDir: dir, Wait: long})
		require.NoError(t, err, "the host can enter it, and so the command begins")
		require.Equal(t, dir, out.Process.WorkDir)
		require.True(t, strings.HasPrefix(out.Text, dir+"\n"))
		require.Contains(t, out.Text, "Permission denied")
		require.True(t, strings.HasSuffix(out.Text, "\n2\n"))
	})
}

// sandboxes ends a test if bwrap is not there, or may not make a sandbox: not
// every system lets an ordinary user make namespaces.
func sandboxes(t testing.TB, sandbox ...string) {
	t.Helper()
	if out, err := exec.Command(sandbox[0], slices.Concat(sandbox[1:], []string{"--unshare-pid", "true"})...).CombinedOutput(); err != nil {
		testenv.Lacks(t, "bwrap", "%v\n%s", err, out)
	}
}

// In a sandbox the leader is bwrap, which stays as the shell's parent.
func TestShellBubblewrap(t *testing.T) {
	const sandbox = "bwrap --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp"
	sandboxes(t, strings.Fields(sandbox)...)
	for _, tt := range []struct {
		name, wrapper string
		ownPIDs       bool // a pid namespace
		dies          bool // with the shell, whatever is in the background
	}{
		{"files", sandbox, false, false},
		{"files and pids", sandbox + " --unshare-pid", true, false},
		{"files and pids, dies with parent", sandbox + " --unshare-pid --die-with-parent", true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := in(t, tt.wrapper)
			// The rest of the sandbox may show as detached for a moment.
			whole := func(command string) procmgr.Output { return ended(t, l, run(t, l, command).Process.ID) }
			out := whole("touch /x; touch /tmp/x && ls /tmp; ls -d /proc/[0-9]* | wc -l")
			require.Contains(t, out.Text, "Read-only file system")
			require.Contains(t, out.Text, "\nx\n", "a /tmp of its own")
			if tt.ownPIDs {
				require.Less(t, atoi(t, lastLine(out.Text)), 8, "no process outside can be seen")
			}
			for command, code := range map[string]int{
				"true": 0, "exit 3": 3, "toolproc-no-such-command": 127, "kill -TERM $$": 143, "kill -KILL $$": 137,
			} {
				p := whole(command).Process
				require.Equal(t, code, *p.ExitCode, command)
				require.Empty(t, p.Signal, "bwrap exits with 128+n")
				require.Equal(t, procmgr.CauseExit, p.EndedBy)
			}
			checkOutput(t, l)
			out = start(t, l, procmgr.StartRequest{Command: "/bin/pwd", WorkDir: t.TempDir(), Env: map[string]string{"HOME": "/etc"}, Wait: long})
			require.Equal(t, "/etc\n", out.Text, "a directory that is not there inside is not missed")

			for _, sig := range []procmgr.Signal{procmgr.Terminate, procmgr.Kill} {
				sleep, marker := markedSleep()
				id := begin(t, l, sleep+" & setsid "+sleep+" >/dev/null 2>&1 & echo ready; wait").Process.ID
				asleep(t, marker, 2)
				require.NoError(t, l.Signal(t.Context(), id, sig))
				require.Equal(t, procmgr.CauseRequest, ended(t, l, id).Process.EndedBy)
				gone(t, marker)
			}

			// bwrap hands no signal on and dies of it, before the command.
			out = begin(t, l, "trap 'sleep 1; echo bye; exit 9' TERM; echo ready; while :; do sleep 0.01; done")
			require.NoError(t, l.Signal(t.Context(), out.Process.ID, procmgr.Terminate))
			out = ended(t, l, out.Process.ID)
			require.Equal(t, 143, *out.Process.ExitCode)
			require.Equal(t, "SIGTERM", out.Process.Signal)
			require.Equal(t, !tt.dies, strings.HasSuffix(out.Text, "bye\n"), out.Text)

			// A process that wipes its environment and leaves its session is
			// lost without a pid namespace. With one, it ends with that.
			if !tt.ownPIDs {
				return
			}
			sleep, marker := markedSleep()
			out = run(t, l, "env -i setsid "+sleep+" >/dev/null 2>&1 & exit 3")
			require.Equal(t, 3, *out.Process.ExitCode)
			if !tt.dies {
				require.Equal(t, procmgr.Detached, out.Process.State)
				require.NoError(t, l.Signal(t.Context(), out.Process.ID, procmgr.Kill))
			}
			ended(t, l, out.Process.ID)
			gone(t, marker)
		})
	}
}

func lastLine(text string) string {
	lines := strings.Fields(text)
	return lines[len(lines)-1]
}
