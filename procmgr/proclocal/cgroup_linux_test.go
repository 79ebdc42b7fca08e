package proclocal_test

import (
	"bytes"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// Nothing escapes from a cgroup: not by a session of its own, not by wiping its
// environment, not by a cgroup below its own, not by forking while it dies.
func TestCgroup(t *testing.T) {
	testenv.Programs(t, "bash", "setsid", "awk")
	l := newLocal(t, &proclocal.Options{Cgroup: testenv.Cgroup(t), Shell: []string{"bash", "-c"}})
	for name, command := range map[string]string{
		"storm": `for i in 1 2 3; do
			env -i setsid sh -c 'trap "" TERM; for i in $(seq 500); do sleep 1000 & sleep 0.001; done' >/dev/null 2>&1 &
			done; sleep 0.1; exit 3`,
		"cgroups below its own": `root=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/self/mounts)
			own=$root$(sed -n 's/^0:://p' /proc/self/cgroup)/sub
			mkdir $own; env -i setsid sleep 1000 >/dev/null 2>&1 & echo $! >$own/cgroup.procs && exit 3`,
	} {
		t.Run(name, func(t *testing.T) {
			out := run(t, l, command)
			require.Equal(t, procmgr.Detached, out.Process.State, "it is known at once, not after a search")
			require.Equal(t, 3, *out.Process.ExitCode)
			require.NoError(t, l.Signal(t.Context(), out.Process.ID, procmgr.Kill))
		})
	}
}

// New ends the processes that a killed host left behind. It leaves alone the processes
// of a living host.
func TestCgroupOrphans(t *testing.T) {
	dir := testenv.Cgroup(t)
	theirs := begin(t, newLocal(t, &proclocal.Options{Cgroup: dir}), "echo ready; exec sleep 1000")

	// A dead manager's directory: its lock is free.
	dead := filepath.Join(dir, "toolproc-dead")
	require.NoError(t, os.MkdirAll(filepath.Join(dead, "process"), 0o755))
	orphan := exec.Command("sleep", "1000")
	require.NoError(t, orphan.Start())
	require.NoError(t, os.WriteFile(filepath.Join(dead, "process", "cgroup.procs"), []byte(strconv.Itoa(orphan.Process.Pid)), 0))

	var log bytes.Buffer
	newLocal(t, &proclocal.Options{Cgroup: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.ErrorContains(t, orphan.Wait(), "killed")
	require.NoDirExists(t, dead)
	require.Contains(t, log.String(), "processes=1")
	require.True(t, alive(strconv.Itoa(theirs.Process.PID)))
}

func TestCgroupRefuses(t *testing.T) {
	dir := testenv.Cgroup(t)
	threaded := filepath.Join(dir, "threaded")
	require.NoError(t, os.Mkdir(threaded, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(threaded, "cgroup.type"), []byte("threaded"), 0))
	defer func() { require.NoError(t, unix.Rmdir(threaded)) }()
	readOnly := t.TempDir()
	testenv.Mount(t, dir, readOnly, "", unix.MS_BIND, "")
	require.NoError(t, unix.Mount("", readOnly, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))

	for says, dir := range map[string]string{
		"no such file":                filepath.Join(dir, "missing"),
		"no directory of a cgroup v2": t.TempDir(),
		"read-only":                   readOnly,
		"threaded":                    threaded,
	} {
		l, err := proclocal.New(&proclocal.Options{Cgroup: dir})
		require.ErrorContains(t, err, says)
		require.ErrorContains(t, err, dir)
		require.Nil(t, l)
	}
}
