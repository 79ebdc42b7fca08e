package procmgr_test

import (
	"bytes"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr"
)

// cgroupDir returns a delegated directory of a cgroup v2 file system. Where
// none is mounted, as on a machine with cgroup v1 alone, the test mounts one.
func cgroupDir(t testing.TB) string {
	t.Helper()
	root := ""
	mounts, err := os.ReadFile("/proc/self/mounts")
	require.NoError(t, err)
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); f[2] == "cgroup2" && strings.Contains(f[3], "rw") {
			root = f[1]
		}
	}
	if root == "" {
		root = t.TempDir()
		require.NoError(t, unix.Mount("cgroup2", root, "cgroup2", 0, ""), "a test of Options.Cgroup needs the right to mount one")
		t.Cleanup(func() { require.NoError(t, unix.Unmount(root, unix.MNT_DETACH)) })
	}
	dir, err := os.MkdirTemp(root, "test-") //nolint:usetesting // it has to be in the cgroup file system
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Rmdir(dir), "something is left in the cgroup") })
	return dir
}

// In a cgroup nothing gets away: not by a session of its own, not by wiping its
// environment, not by letting go of the pipe, not by forking while it dies.
func TestCgroup(t *testing.T) {
	l := newLocal(t, &procmgr.Options{Cgroup: cgroupDir(t), Shell: []string{"bash", "-c"}})
	tests := []struct{ name, leave string }{
		{"child", "sleep 1000 &"},
		{"session", "setsid sleep 1000 &"},
		{"session and pipe", "setsid sleep 1000 >/dev/null 2>&1 &"},
		{"session, pipe and environment", "env -i setsid sleep 1000 >/dev/null 2>&1 &"},
		{"double fork", "(env -i setsid sh -c 'sleep 1000 >/dev/null 2>&1 &' &)"},
		{"storm", "for i in 1 2 3; do env -i setsid sh -c 'trap \"\" TERM; while :; do sleep 1000 & sleep 0.001; done' >/dev/null 2>&1 & done; sleep 0.1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := run(t, l, tt.leave+"\nexit 3")
			require.Equal(t, procmgr.Detached, out.Process.State, "it is known at once, not after a search")
			require.Equal(t, 3, *out.Process.ExitCode)
			require.NoError(t, l.Signal(t.Context(), out.Process.ID, procmgr.Kill))
			out = ended(t, l, out.Process.ID)
			require.Equal(t, procmgr.CauseRequest, out.Process.EndedBy)
		})
	}
	t.Run("terminate", func(t *testing.T) {
		out := run(t, l, "env -i setsid sleep 1000 >/dev/null 2>&1 &")
		require.NoError(t, l.Signal(t.Context(), out.Process.ID, procmgr.Terminate))
		ended(t, l, out.Process.ID)
	})
	t.Run("ends by itself", func(t *testing.T) {
		out := run(t, l, "env -i setsid sleep 0.2 >/dev/null 2>&1 &")
		require.Equal(t, procmgr.Detached, out.Process.State)
		require.Equal(t, procmgr.CauseExit, ended(t, l, out.Process.ID).Process.EndedBy)
	})
	t.Run("plain", func(t *testing.T) {
		out := run(t, l, "echo hello; exit 4")
		require.Equal(t, procmgr.Exited, out.Process.State)
		require.Equal(t, 4, *out.Process.ExitCode)
		require.Equal(t, "hello\n", out.Text)
	})
	t.Run("cgroups below its own", func(t *testing.T) {
		out := run(t, l, `root=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/self/mounts)
			own=$root$(sed -n 's/^0:://p' /proc/self/cgroup)/sub
			mkdir $own; env -i setsid sleep 1000 >/dev/null 2>&1 & echo $! >$own/cgroup.procs && echo moved`)
		require.Equal(t, "moved\n", out.Text)
		require.Equal(t, procmgr.Detached, out.Process.State)
		require.NoError(t, l.Signal(t.Context(), out.Process.ID, procmgr.Kill))
		ended(t, l, out.Process.ID)
	})
	_, err := l.Start(t.Context(), procmgr.StartRequest{Command: "true", WorkDir: "/no/such"})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
}

// What a killed host left behind, the next one ends; what a living one runs, it
// leaves alone.
func TestCgroupOrphans(t *testing.T) {
	dir := cgroupDir(t)
	living := newLocal(t, &procmgr.Options{Cgroup: dir})
	theirs := begin(t, living, "echo ready; exec sleep 1000")

	// A dead manager's directory: nobody holds its lock.
	dead := filepath.Join(dir, "toolproc-dead")
	require.NoError(t, os.MkdirAll(filepath.Join(dead, "process"), 0o755))
	orphan := exec.Command("sleep", "1000")
	require.NoError(t, orphan.Start())
	require.NoError(t, os.WriteFile(filepath.Join(dead, "process", "cgroup.procs"), []byte(strconv.Itoa(orphan.Process.Pid)), 0))

	var log bytes.Buffer
	newLocal(t, &procmgr.Options{Cgroup: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.ErrorContains(t, orphan.Wait(), "killed")
	require.NoDirExists(t, dead)
	require.Contains(t, log.String(), "processes=1")
	out, err := living.Output(t.Context(), theirs.Process.ID, procmgr.OutputRequest{})
	require.NoError(t, err)
	require.Equal(t, procmgr.Running, out.Process.State)
}

func TestCgroupRefuses(t *testing.T) {
	dir := cgroupDir(t)
	threaded := filepath.Join(dir, "threaded")
	require.NoError(t, os.Mkdir(threaded, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(threaded, "cgroup.type"), []byte("threaded"), 0))
	defer func() { require.NoError(t, unix.Rmdir(threaded)) }()
	readOnly := t.TempDir()
	require.NoError(t, unix.Mount(dir, readOnly, "", unix.MS_BIND, ""))
	defer func() { require.NoError(t, unix.Unmount(readOnly, unix.MNT_DETACH)) }()
	require.NoError(t, unix.Mount("", readOnly, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))

	for _, tt := range []struct{ name, dir, says string }{
		{"missing", filepath.Join(dir, "missing"), "no such file"},
		{"no cgroup", t.TempDir(), "no directory of a cgroup v2"},
		{"read-only", readOnly, "read-only"},
		{"threaded", threaded, "threaded"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			began := time.Now()
			l, err := procmgr.NewLocal(&procmgr.Options{Cgroup: tt.dir})
			require.ErrorContains(t, err, tt.says)
			require.ErrorContains(t, err, tt.dir)
			require.Nil(t, l)
			require.Less(t, time.Since(began), 10*time.Second)
		})
	}
}
