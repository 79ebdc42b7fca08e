package proclocal_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// marked returns the live processes with a text in their environment or
// arguments, which each live thread of a process shows.
func marked(text string) (pids []string) {
	threads, _ := filepath.Glob("/proc/[0-9]*/task/*")
	for _, thread := range threads {
		environ, _ := os.ReadFile(thread + "/environ")
		arguments, _ := os.ReadFile(thread + "/cmdline")
		if bytes.Contains(append(environ, arguments...), []byte(text)) {
			pids = append(pids, strings.Split(thread, "/")[2])
		}
	}
	return slices.Compact(pids)
}

// If another part of the program has reaped a shell, its exit code is lost, and
// nothing hangs.
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

// A pipeline has the exit code of its last command. The counter of the process's
// own cgroup tells that another one was killed, or one that the shell has not waited for.
func TestOOMInPipeline(t *testing.T) {
	if !inProgram(t) {
		testenv.Root(t)
		cmd := program(t)
		cmd.Env = append(cmd.Env, "CGROUP="+testenv.Cgroup(t))
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
		runProgram(t, cmd)
		return
	}
	l := newLocal(t, &proclocal.Options{Cgroup: os.Getenv("CGROUP")})
	for name, tt := range map[string]struct {
		events string
		want   bool
	}{
		"killed":    {"low 0\noom 1\noom_kill 1\n", true},
		"untouched": {"low 0\noom 1\noom_kill 0\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			fifo := filepath.Join(t.TempDir(), "go")
			require.NoError(t, unix.Mkfifo(fifo, 0o600))
			out := begin(t, l, "echo ready; read x <"+fifo+"; sh -c 'kill -KILL $$' | wc -c")
			dirs, err := filepath.Glob(os.Getenv("CGROUP") + "/toolproc-*/*/cgroup.procs")
			require.NoError(t, err)
			require.Len(t, dirs, 1)
			// Its memory controller, which not every machine can give.
			dir := filepath.Dir(dirs[0])
			require.NoError(t, unix.Mount("none", dir, "tmpfs", 0, ""))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "memory.events"), []byte(tt.events), 0o600))
			require.NoError(t, os.WriteFile(fifo, []byte("\n"), 0))
			out = ended(t, l, out.Process.ID)
			require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH))
			_ = os.Remove(dir) // the Local may have removed it already
			require.Equal(t, 0, *out.Process.ExitCode)
			require.Equal(t, tt.want, out.Process.OOM)
		})
	}
}

// Terminate and Close continue a process that is stopped, so that it takes
// their signal.
func TestStopped(t *testing.T) {
	for name, command := range map[string]string{
		"the shell":      "kill -STOP $$",
		"a grandchild":   `sh -c 'sh -c "kill -STOP \$\$"; :' & wait`,
		"left behind":    "sleep 1000 & kill -STOP $!",
		"waits for none": "sh -c 'kill -STOP $$'; echo never",
	} {
		t.Run(name, func(t *testing.T) {
			testenv.Programs(t, "bash")
			l, err := proclocal.New(&proclocal.Options{Shell: []string{"bash", "-c"}, StopGrace: 4 * long})
			require.NoError(t, err)
			start := func() procmgr.Process {
				out := start(t, l, procmgr.StartRequest{Command: command})
				eventually(t, "a member is stopped", func() bool { return hasStopped(t, out.Process.PID) })
				return out.Process
			}
			p := start()
			require.NoError(t, l.Signal(t.Context(), p.ID, procmgr.Terminate))
			ended(t, l, p.ID)
			start()
			began := time.Now()
			require.NoError(t, l.Close())
			require.Less(t, time.Since(began), 2*long, "it has not waited StopGrace")
		})
	}
}

// hasStopped reports whether a process of a session is stopped.
func hasStopped(t *testing.T, session int) bool {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	for _, stat := range stats {
		text, err := os.ReadFile(stat)
		if err != nil {
			continue // it has ended
		}
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // state ppid pgrp session
		if len(fields) > 3 && fields[0] == "T" && fields[3] == strconv.Itoa(session) {
			return true
		}
	}
	return false
}
