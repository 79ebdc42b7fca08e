package procmgr_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

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

// Zombies are no members: where orphans are nobody's to reap, as under a PID 1
// that does not, a process still ends.
func TestZombiesAreNoMembers(t *testing.T) {
	require.NoError(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
	defer func() { require.NoError(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)) }()
	l := newLocal(t, nil)
	out := run(t, l, "sleep 0.2 >/dev/null & echo $!")
	orphan := strings.TrimSpace(out.Text)
	require.Equal(t, procmgr.Detached, out.Process.State)
	began := time.Now()
	ended(t, l, out.Process.ID)
	require.Less(t, time.Since(began), 5*time.Second)
	stat, err := os.ReadFile("/proc/" + orphan + "/stat")
	require.NoError(t, err, "the orphan is this program's, which has not reaped it")
	require.Contains(t, string(stat), ") Z ")
	var status unix.WaitStatus
	_, err = unix.Wait4(atoi(t, orphan), &status, 0, nil)
	require.NoError(t, err)
}
