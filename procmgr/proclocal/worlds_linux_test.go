package proclocal_test

import (
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
)

// privateProc runs a program with a /proc that shows processes and nothing else, as
// ProcSubset=pid of systemd does.
var privateProc = []string{"unshare", "--mount", "--propagation=private", "sh", "-c", `mount -t proc -o subset=pid proc /proc && exec "$@"`, "sh"}

// everywhere runs f here, and in programs of its own: with less of /proc, without
// the right to mark a process, and with descriptors that the program has inherited.
func everywhere(t *testing.T, f func(t *testing.T)) {
	if inProgram(t) {
		f(t)
		return
	}
	parent := t
	run := func(name string, prepare func(t *testing.T) *exec.Cmd) {
		t.Run(name, func(t *testing.T) {
			runProgramOf(t, parent, prepare(t))
		})
	}
	unmarked := []string{"bash", "-c", `ulimit -x 1000 && exec "$@"`, "bash"}
	t.Run("plain", f)
	run("ProcSubset=pid", func(t *testing.T) *exec.Cmd {
		testenv.Root(t)
		testenv.Programs(t, "unshare", "mount")
		return program(parent, privateProc...)
	})
	run("ProcSubset=pid and an ordinary user", func(t *testing.T) *exec.Cmd {
		testenv.Root(t)
		testenv.Programs(t, "unshare", "mount", "setpriv")
		cmd := program(parent, slices.Concat(privateProc, []string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"})...)
		cmd.Dir = "/" // it may not enter this one
		cmd.Env = append(cmd.Env, "HOME=/")
		return cmd
	})
	run("no marks", func(t *testing.T) *exec.Cmd {
		testenv.Programs(t, "bash", "setpriv")
		if os.Getuid() == 0 {
			return program(parent, slices.Concat([]string{"setpriv", "--bounding-set=-sys_resource"}, unmarked)...)
		}
		return program(parent, unmarked...)
	})
	run("inherited descriptors", func(t *testing.T) *exec.Cmd {
		cmd := program(parent)
		for range 5 {
			f, err := os.Open(os.DevNull)
			require.NoError(t, err)
			t.Cleanup(func() { f.Close() })
			cmd.ExtraFiles = append(cmd.ExtraFiles, f)
		}
		return cmd
	})
}
