package testenv

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// Cgroup returns a delegated directory of a cgroup v2 file system. If none is
// mounted, as on a machine with only cgroup v1, it mounts one. It ends the test if
// its user may do neither, and fails it if something is left in the directory.
func Cgroup(t testing.TB) string {
	t.Helper()
	root := ""
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		Lacks(t, "cgroup", "the mounts cannot be read: %v", err)
	}
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); f[2] == "cgroup2" && strings.Contains(f[3], "rw") {
			root = f[1]
		}
	}
	if root == "" {
		root = t.TempDir()
		Mount(t, "cgroup2", root, "cgroup2", 0, "")
	}
	dir, err := os.MkdirTemp(root, "test-") //nolint:usetesting // it has to be in the cgroup file system
	if err != nil {
		Lacks(t, "cgroup", "this user cannot make one: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Rmdir(dir); err != nil {
			t.Errorf("something is left in the cgroup: %v", err)
		}
	})
	return dir
}
