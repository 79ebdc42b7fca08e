package proclocal_test

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
)

// Some faults hit a whole program: it is killed, it has no descriptor left, or
// it lives in a namespace with few numbers. Such a test runs itself again in a
// program of its own:
//
//	if !inProgram(t) {
//		runProgram(t, program(t))
//		return
//	}

// programVariable names the test for which a program was started.
const programVariable = "PROCMGR_TEST_PROGRAM"

// inProgram reports whether this is the program that was started for the test.
func inProgram(t *testing.T) bool { return os.Getenv(programVariable) == t.Name() }

// program returns the command that runs the calling test in a program of its
// own. wrapper is the command that runs that program.
func program(t *testing.T, wrapper ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	pattern := "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$"
	argv := append(wrapper, self, "-test.run="+pattern, "-test.count=1", "-test.timeout=2m", "-test.v")
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), programVariable+"="+t.Name())
	return cmd
}

// runProgram runs the command to its end: the test has to pass there.
func runProgram(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	runProgramOf(t, t, cmd)
}

// runProgramOf is runProgram for the command of another test.
func runProgramOf(t, of *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	require.NoError(t, err, "in a program of its own:\n%s", &out)
	require.Contains(t, out.String(), "--- PASS: "+of.Name(), "it did not run there")
	t.Logf("%s", &out)
}

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
