package proclocal_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// Kill, Terminate and Close end what has left the session, and say so in time.
func TestLeftSessionEnds(t *testing.T) {
	testenv.Programs(t, "setsid")
	everywhere(t, func(t *testing.T) {
		for _, by := range []string{string(procmgr.Kill), string(procmgr.Terminate), "close"} {
			t.Run(by, func(t *testing.T) {
				l, err := proclocal.New(nil)
				require.NoError(t, err)
				id := begin(t, l, "setsid sleep 1000 >/dev/null 2>&1 & echo ready; exec setsid sleep 1000").Process.ID
				began := time.Now()
				if by != "close" {
					require.NoError(t, l.Signal(t.Context(), id, procmgr.Signal(by)))
					require.Equal(t, procmgr.Exited, ended(t, l, id).Process.State)
				}
				require.NoError(t, l.Close())
				require.Less(t, time.Since(began), 4*time.Second, "it is found at once, and not given up")
			})
		}
	})
}

// Without a /proc of its PID namespace a Local misses what has left a session. It says
// so, unless each process has a cgroup. Commands that leave nothing run as ever.
func TestUnusableProc(t *testing.T) {
	for name, tt := range map[string]struct {
		wrapper []string
		says    string
	}{
		"no proc":                   {[]string{"unshare", "--mount", "--propagation=private", "sh", "-c", `mount -t tmpfs none /proc && exec "$@"`, "sh"}, "it does not show this program"},
		"of another PID namespace":  {[]string{"unshare", "--pid", "--fork", "sh", "-c", `"$@"; exit $?`, "sh"}, "it is that of another PID namespace"},
		"of a PID namespace within": {[]string{"unshare", "--mount", "--propagation=private", "sh", "-c", `unshare --pid --fork mount -t proc proc /proc && exec "$@"`, "sh"}, "it does not show this program"},
	} {
		t.Run(name, func(t *testing.T) {
			if !inProgram(t) {
				testenv.Root(t)
				testenv.Programs(t, "unshare", "mount")
				cmd := program(t, tt.wrapper...)
				cmd.Env = append(cmd.Env, "CGROUP="+testenv.Cgroup(t))
				runProgram(t, cmd)
				return
			}
			var log bytes.Buffer
			l, err := proclocal.New(&proclocal.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			require.NoError(t, err)
			require.Contains(t, log.String(), "processes that leave their session cannot be found")
			require.Contains(t, log.String(), "/proc cannot be used: "+tt.says)
			require.Contains(t, log.String(), "; mount a /proc for this program's PID namespace, or set Options.Cgroup")
			require.Equal(t, "here\n", run(t, l, "echo here").Text)
			began := time.Now()
			require.ErrorContains(t, l.Close(), "none can be looked at")
			require.Less(t, time.Since(began), 4*time.Second)

			l = newLocal(t, &proclocal.Options{Cgroup: os.Getenv("CGROUP")})
			out := begin(t, l, "setsid sleep 1000 >/dev/null 2>&1 & echo ready; exec setsid sleep 1000")
			_, err = l.Output(t.Context(), out.Process.ID, procmgr.OutputRequest{Ports: true})
			require.ErrorIs(t, err, errors.ErrUnsupported, "a number in this /proc is a stranger's")
			require.NoError(t, l.Signal(t.Context(), out.Process.ID, procmgr.Kill))
			require.Equal(t, procmgr.Exited, ended(t, l, out.Process.ID).Process.State)
		})
	}
}

// A shell that has ended is told at once, and what it has left behind in a session of
// its own is told too, so that the end is not.
func TestShellEndsBeforeItsDaemon(t *testing.T) {
	testenv.Programs(t, "setsid")
	everywhere(t, func(t *testing.T) {
		l := newLocal(t, nil)
		for i := range 10 {
			command := "setsid sleep 1000 >/dev/null 2>&1 & echo started"
			if i%2 == 1 && plainShell() == "bash" {
				command = "ulimit -x 1000; " + command // which takes its mark
			}
			out := start(t, l, procmgr.StartRequest{Command: command, Wait: long})
			require.Equal(t, procmgr.Detached, out.Process.State)
			require.Equal(t, "started\n", out.Text)
			require.Less(t, time.Since(out.Process.StartedAt), long/2)
			require.NoError(t, l.Signal(t.Context(), out.Process.ID, procmgr.Kill))
		}
	})
}

// A program that does not wait for room in the pipe, because another one has made that
// non-blocking, prints all of a large output.
func TestPipeHasRoom(t *testing.T) {
	testenv.Programs(t, "dd")
	everywhere(t, func(t *testing.T) {
		out := run(t, newLocal(t, nil), "dd if=/dev/zero bs=900000 count=1 oflag=nonblock 2>/dev/null; exit $?")
		require.Equal(t, 0, *out.Process.ExitCode)
		require.EqualValues(t, 900000, out.Next)
	})
}
