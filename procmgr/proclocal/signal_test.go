package proclocal_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
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
			if strings.Contains(tt.command, "trap") || strings.Contains(tt.command, "STOP") {
				needs(t, "signals")
			}
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

var number = regexp.MustCompile(`(?m)^\d+$`)

// Terminate reaches all members: children, other groups, and those that have
// left the session.
func TestSignalReachesAll(t *testing.T) {
	needs(t, "sessions and process groups")
	for _, leader := range []string{"wait", "exit 0"} {
		t.Run(leader, func(t *testing.T) {
			testenv.Programs(t, "bash", "setsid")
			l := newLocal(t, &proclocal.Options{Shell: []string{"bash", "-c"}})
			child := `sh -c 'echo $$; exec sleep 1000' &`
			quiet := `sh -c 'echo $$; exec sleep 1000 >/dev/null 2>&1' &`
			out := begin(t, l, strings.Join([]string{
				child, "(" + quiet + ")", "setsid " + child, "set -m", child, "setsid " + quiet, "echo ready", leader,
			}, "\n"))
			var pids []string
			eventually(t, "all of them sleep", func() bool {
				out, err := l.Output(t.Context(), out.Process.ID, procmgr.OutputRequest{})
				require.NoError(t, err)
				pids = number.FindAllString(out.Text, -1) // bash tells of jobs that end
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
				// A process that ends loses its environment a moment before it
				// is a zombie.
				eventually(t, "pid "+pid+" ends", func() bool { return !alive(pid) })
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

func TestClose(t *testing.T) {
	needs(t, "signals")
	l, err := proclocal.New(&proclocal.Options{StopGrace: 2 * time.Second})
	require.NoError(t, err)
	polite := begin(t, l, "trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.01; done").Process.ID
	stubborn := begin(t, l.Chat("a"), "trap '' TERM; echo ready; while :; do sleep 0.01; done").Process.ID
	detached := run(t, l, "sleep 1000 & echo $!")
	escaped := run(t, l, "setsid sleep 1000 >/dev/null 2>&1 & echo $!")
	done := run(t, l, "echo done").Process.ID

	began := time.Now()
	require.NoError(t, l.Close())
	require.Less(t, time.Since(began), long/2)
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

// A wait for a process that Close ends is over with the process.
func TestCloseEndsWaits(t *testing.T) {
	l, err := proclocal.New(nil)
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
