package procmgr_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr"
)

// What forks while it is being killed does not get away.
func TestKillForkStorm(t *testing.T) {
	l := newLocal(t, nil)
	marker := "toolproc-storm-" + procmgr.NewID()
	out := begin(t, l, `
		storm() { while :; do sh -c 'sleep 0.05; exec sleep 1000' `+marker+` & sleep 0.005; done; }
		storm & storm & (setsid sh -c 'while :; do sleep 1000 & sleep 0.005; done' `+marker+` &)
		sleep 0.1; echo ready; wait`)
	require.NoError(t, l.Signal(t.Context(), out.Process.ID, procmgr.Kill))
	require.Empty(t, marked(marker))
}

// marked returns the live processes with a text in their environment or
// arguments.
func marked(text string) (pids []string) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		for _, file := range []string{"/environ", "/cmdline"} {
			data, _ := os.ReadFile("/proc/" + e.Name() + file)
			if strings.Contains(string(data), text) && e.Name() != "self" && alive(e.Name()) {
				pids = append(pids, e.Name())
				break
			}
		}
	}
	return pids
}

// The exit code of a shell that something else in the program has reaped is
// lost, and nothing hangs.
func TestLost(t *testing.T) {
	l := newLocal(t, nil)
	for range 20 {
		out := begin(t, l, "echo ready; exec sleep 1000")
		pid := out.Process.PID
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		var status unix.WaitStatus
		_, err := unix.Wait4(pid, &status, 0, nil)
		out, oerr := l.Output(t.Context(), out.Process.ID, procmgr.OutputRequest{Wait: long})
		require.NoError(t, oerr)
		require.Equal(t, procmgr.Exited, out.Process.State)
		if err == nil {
			require.Equal(t, procmgr.CauseLost, out.Process.EndedBy)
			require.Nil(t, out.Process.ExitCode)
			return
		}
		require.Equal(t, procmgr.CauseSignal, out.Process.EndedBy)
	}
	t.Log("the manager was always first")
}

// adopt makes this program the parent of orphans, as PID 1 is.
func adopt(t *testing.T) {
	t.Helper()
	require.NoError(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
	t.Cleanup(func() { require.NoError(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)) })
}

// Zombies are no members: where orphans are nobody's to reap, as under a PID 1
// that does not, a process still ends.
func TestZombiesAreNoMembers(t *testing.T) {
	adopt(t)
	l := newLocal(t, procmgr.WithoutPidfd(nil)) // so that it does not reap them either
	out := run(t, l, "sleep 0.2 >/dev/null & echo $!")
	orphan := strings.TrimSpace(out.Text)
	require.Equal(t, procmgr.Detached, out.Process.State)
	ended(t, l, out.Process.ID)
	stat, err := os.ReadFile("/proc/" + orphan + "/stat")
	require.NoError(t, err, "the orphan is this program's, which has not reaped it")
	require.Contains(t, string(stat), ") Z ")
	_, err = unix.Wait4(atoi(t, orphan), nil, 0, nil)
	require.NoError(t, err)
}

// Where this program is PID 1 or a subreaper, what it adopts from a command is
// reaped, and nobody else's child is.
func TestAdoptedOrphansAreReaped(t *testing.T) {
	adopt(t)
	stranger := exec.Command("true")
	require.NoError(t, stranger.Start())
	l := newLocal(t, nil)
	for _, command := range []string{
		"sleep 0.2 >/dev/null & echo $!",             // waited for as a member
		"(sh -c 'echo $$; exec true' &); sleep 0.2",  // a zombie by the time of the first look
		"setsid sleep 0.2 >/dev/null 2>&1 & echo $!", // found by its cookie
	} {
		out := run(t, l, command)
		orphan := strings.TrimSpace(out.Text)
		if strings.HasPrefix(command, "setsid") {
			eventually(t, "it is found", func() bool {
				out, err := l.Output(t.Context(), out.Process.ID, procmgr.OutputRequest{})
				require.NoError(t, err)
				return out.Process.State == procmgr.Detached || !alive(orphan)
			})
			if !alive(orphan) { // a machine too slow to see it in time
				_, _ = unix.Wait4(atoi(t, orphan), nil, 0, nil)
				continue
			}
		}
		ended(t, l, out.Process.ID)
		require.NoFileExists(t, "/proc/"+orphan+"/stat", command)
	}
	require.NoError(t, stranger.Wait(), "its exit is there for the one who started it")
}

// A kill by the out-of-memory killer looks like any other from outside; the
// kernel's counters tell.
func TestOOM(t *testing.T) {
	counters := filepath.Join(t.TempDir(), "vmstat")
	count := func(n string) {
		require.NoError(t, os.WriteFile(counters, []byte("nr_free_pages 12345\noom_kill "+n+"\nnr_x 1\n"), 0o600))
	}
	count("3")
	l := newLocal(t, procmgr.WithVmstat(&procmgr.Options{}, counters))
	require.False(t, run(t, l, "kill -KILL $$").Process.OOM, "nothing shows it")
	for _, command := range []string{"kill -KILL $$", "sh -c 'kill -KILL $$'; exit $?"} {
		t.Run(command, func(t *testing.T) {
			out := begin(t, l, "echo ready; while [ ! -e "+counters+".go ]; do sleep 0.01; done; "+command)
			count("4" + strconv.Itoa(len(command)))
			require.NoError(t, os.WriteFile(counters+".go", nil, 0o600))
			defer func() { require.NoError(t, os.Remove(counters+".go")) }()
			out = ended(t, l, out.Process.ID)
			require.Equal(t, 137, *out.Process.ExitCode)
			require.True(t, out.Process.OOM)
		})
	}
	t.Run("asked for", func(t *testing.T) {
		out := begin(t, l, "echo ready; exec sleep 1000")
		count("999")
		require.NoError(t, l.Signal(t.Context(), out.Process.ID, procmgr.Kill))
		require.False(t, ended(t, l, out.Process.ID).Process.OOM)
	})
}

// What was known as a member is ended, though it leaves session and cookie
// later.
func TestKillReachesWhoLeavesLater(t *testing.T) {
	l := newLocal(t, nil)
	gone := filepath.Join(t.TempDir(), "gone")
	out := run(t, l, "env -i sh -c 'sleep 0.2; exec setsid sh -c \"touch "+gone+"; exec sleep 1000\"' >/dev/null 2>&1 & exit 3")
	require.Equal(t, procmgr.Detached, out.Process.State)
	eventually(t, "it leaves the session", func() bool { _, err := os.Stat(gone); return err == nil })
	require.NoError(t, l.Signal(t.Context(), out.Process.ID, procmgr.Kill))
	ended(t, l, out.Process.ID)
}

// What ends with its shell, or a moment after it, was not left behind.
func TestNotDetachedForAMoment(t *testing.T) {
	l := newLocal(t, &procmgr.Options{Shell: []string{"bash", "-c"}})
	for _, command := range []string{"exec > >(cat); echo x", "(sleep .005; echo late) & echo now", "true & true", "nosuch & true"} {
		detached := 0
		for range 25 {
			if run(t, l, command).Process.State != procmgr.Exited {
				detached++
			}
		}
		require.Less(t, detached, 12, "%s: 50 ms are enough, but for a machine too busy", command)
	}
}
