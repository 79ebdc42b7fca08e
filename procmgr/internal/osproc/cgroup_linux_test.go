package osproc_test

import (
	"bytes"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// Nothing escapes from a cgroup: not by a session of its own, not by wiping its
// environment, not by letting go of the pipe, not by forking while it dies.
func TestCgroup(t *testing.T) {
	testenv.Programs(t, "bash", "setsid", "awk")
	s := open(t, osproc.Config{Cgroup: testenv.Cgroup(t)})
	t.Run("storm", func(t *testing.T) {
		c := start(t, s, "bash", "-c", `for i in 1 2 3; do
			env -i setsid sh -c 'trap "" TERM; for i in $(seq 500); do sleep 1000 & sleep 0.001; done' >/dev/null 2>&1 &
			done; sleep 0.1; exit 3`)
		require.Equal(t, 3, *c.left(t).Code(), "it is known at once, not after a search")
		c.kill(t)
	})
	t.Run("cgroups below its own", func(t *testing.T) {
		c := start(t, s, "bash", "-c", `root=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/self/mounts)
			own=$root$(sed -n 's/^0:://p' /proc/self/cgroup)/sub
			mkdir $own; env -i setsid sleep 1000 >/dev/null 2>&1 & echo $! >$own/cgroup.procs && echo moved`)
		c.left(t)
		require.Equal(t, "moved\n", c.output())
		c.kill(t)
	})
}

// A System ends the processes that a killed host left behind. It leaves alone
// the processes of a living host.
func TestCgroupOrphans(t *testing.T) {
	dir := testenv.Cgroup(t)
	theirs := begin(t, open(t, osproc.Config{Cgroup: dir}), "echo ready; exec sleep 1000")

	// A dead manager's directory: its lock is free.
	dead := filepath.Join(dir, "toolproc-dead")
	require.NoError(t, os.MkdirAll(filepath.Join(dead, "process"), 0o755))
	orphan := exec.Command("sleep", "1000")
	require.NoError(t, orphan.Start())
	require.NoError(t, os.WriteFile(filepath.Join(dead, "process", "cgroup.procs"), []byte(strconv.Itoa(orphan.Process.Pid)), 0))

	var log bytes.Buffer
	open(t, osproc.Config{Cgroup: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.ErrorContains(t, orphan.Wait(), "killed")
	require.NoDirExists(t, dead)
	require.Contains(t, log.String(), "processes=1")
	require.True(t, alive(strconv.Itoa(theirs.PID())))
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

	for _, tt := range []struct{ name, dir, says string }{
		{"missing", filepath.Join(dir, "missing"), "no such file"},
		{"no cgroup", t.TempDir(), "no directory of a cgroup v2"},
		{"read-only", readOnly, "read-only"},
		{"threaded", threaded, "threaded"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			began := time.Now()
			s, err := osproc.Open(osproc.Config{Cgroup: tt.dir})
			require.ErrorContains(t, err, tt.says)
			require.ErrorContains(t, err, tt.dir)
			require.Nil(t, s)
			require.Less(t, time.Since(began), 10*time.Second)
		})
	}
}
