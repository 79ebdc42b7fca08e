package procmgr_test

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr"
)

func TestSignal(t *testing.T) {
	tests := []struct {
		name, command string
		sig           procmgr.Signal
		code          int
		signal        string
	}{
		{"terminate", "echo ready; exec sleep 1000", procmgr.Terminate, 143, "SIGTERM"},
		{"interrupt", "echo ready; exec sleep 1000", procmgr.Interrupt, 130, "SIGINT"},
		{"kill", "echo ready; exec sleep 1000", procmgr.Kill, 137, "SIGKILL"},
		{"a handler's exit code counts", "trap 'exit 9' TERM; echo ready; while :; do sleep 0.01; done", procmgr.Terminate, 9, ""},
		{"kill reaches what ignores the rest", "trap '' TERM INT; echo ready; while :; do sleep 0.01; done", procmgr.Kill, 137, "SIGKILL"},
		{"kill reaches what is stopped", "echo ready; kill -STOP $$", procmgr.Kill, 137, "SIGKILL"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLocal(t, nil)
			id := begin(t, l, tt.command).Process.ID
			require.NoError(t, l.Signal(t.Context(), id, tt.sig))
			if tt.sig == procmgr.Kill {
				out, err := l.Output(t.Context(), id, procmgr.OutputRequest{})
				require.NoError(t, err)
				require.Equal(t, procmgr.Exited, out.Process.State, "Kill returns once nothing is left")
			}
			out, err := l.Output(t.Context(), id, procmgr.OutputRequest{Wait: long})
			require.NoError(t, err)
			require.Equal(t, procmgr.Exited, out.Process.State)
			require.Equal(t, tt.code, *out.Process.ExitCode)
			require.Equal(t, tt.signal, out.Process.Signal)
			require.Equal(t, procmgr.CauseRequest, out.Process.EndedBy)
			require.ErrorIs(t, l.Signal(t.Context(), id, tt.sig), procmgr.ErrNotRunning)
		})
	}
}

// Terminate goes to everything: children, other groups, what left the session.
func TestSignalReachesAll(t *testing.T) {
	for _, leader := range []string{"wait", "exit 0"} {
		t.Run(leader, func(t *testing.T) {
			l := newLocal(t, &procmgr.Options{Shell: []string{"bash", "-c"}})
			child := `sh -c 'echo $$; exec sleep 1000' &`
			quiet := `sh -c 'echo $$; exec sleep 1000 >/dev/null 2>&1' &`
			out := begin(t, l, strings.Join([]string{
				child, "(" + quiet + ")", "setsid " + child, "set -m", child, "setsid " + quiet, "echo ready", leader,
			}, "\n"))
			var pids []string
			eventually(t, "all of them sleep", func() bool {
				out, err := l.Output(t.Context(), out.Process.ID, procmgr.OutputRequest{})
				require.NoError(t, err)
				pids = strings.Fields(strings.Replace(out.Text, "ready", "", 1))
				for _, pid := range pids {
					if name, _ := os.ReadFile("/proc/" + pid + "/comm"); string(name) != "sleep\n" {
						return false
					}
				}
				return len(pids) == 5
			})
			require.NoError(t, l.Signal(t.Context(), out.Process.ID, procmgr.Terminate))
			ended(t, l, out.Process.ID)
			for _, pid := range pids {
				require.False(t, alive(pid), "pid %s lives on", pid)
			}
		})
	}
}

func TestSignalRefuses(t *testing.T) {
	l := newLocal(t, nil)
	id := begin(t, l, "echo ready; exec sleep 1000").Process.ID
	for _, sig := range []procmgr.Signal{"", "SIGHUP", "TERMINATE", "9"} {
		err := l.Signal(t.Context(), id, sig)
		require.ErrorIs(t, err, procmgr.ErrInvalid)
		require.ErrorContains(t, err, "use terminate, interrupt or kill")
	}
	require.ErrorIs(t, l.Signal(t.Context(), "other", procmgr.Interrupt), procmgr.ErrNotFound)
}

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
	out := begin(t, l, "echo ready; read x; exec sleep 1000")
	pid := out.Process.PID
	// Stop it first: so it is reaped here before the manager can see it dead.
	for range 20 {
		out := begin(t, l, "echo ready; exec sleep 1000")
		pid = out.Process.PID
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

func TestClose(t *testing.T) {
	l, err := procmgr.NewLocal(&procmgr.Options{StopGrace: 300 * time.Millisecond})
	require.NoError(t, err)
	polite := begin(t, l, "trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.01; done").Process.ID
	stubborn := begin(t, l.Chat("a"), "trap '' TERM; echo ready; while :; do sleep 0.01; done").Process.ID
	detached := run(t, l, "sleep 1000 & echo $!")
	escaped := run(t, l, "setsid sleep 1000 >/dev/null 2>&1 & echo $!")
	done := run(t, l, "echo done").Process.ID

	began := time.Now()
	require.NoError(t, l.Close())
	require.Less(t, time.Since(began), 5*time.Second)
	require.NoError(t, l.Close(), "a second Close returns what the first did")

	for id, want := range map[string]struct {
		code  int
		cause procmgr.Cause
	}{
		polite:              {5, procmgr.CauseShutdown},
		stubborn:            {137, procmgr.CauseShutdown},
		detached.Process.ID: {0, procmgr.CauseShutdown},
		escaped.Process.ID:  {0, procmgr.CauseShutdown},
		done:                {0, procmgr.CauseExit},
	} {
		out, err := l.Output(t.Context(), id, procmgr.OutputRequest{})
		require.NoError(t, err, "what was printed can still be read")
		require.Equal(t, procmgr.Exited, out.Process.State)
		require.Equal(t, want.code, *out.Process.ExitCode)
		require.Equal(t, want.cause, out.Process.EndedBy)
	}
	require.False(t, alive(strings.TrimSpace(detached.Text)))
	require.False(t, alive(strings.TrimSpace(escaped.Text)))
	_, err = l.Start(context.Background(), procmgr.StartRequest{Command: "true"})
	require.ErrorIs(t, err, procmgr.ErrClosed)
}

// A wait for something that Close ends is over with it.
func TestCloseEndsWaits(t *testing.T) {
	l, err := procmgr.NewLocal(nil)
	require.NoError(t, err)
	id := begin(t, l, "echo ready; exec sleep 1000").Process.ID
	done := make(chan procmgr.Output)
	go func() {
		out, _ := l.Output(context.Background(), id, procmgr.OutputRequest{Wait: time.Hour, Until: "never"})
		done <- out
	}()
	require.NoError(t, l.Close())
	require.Equal(t, procmgr.Exited, (<-done).Process.State)
}
