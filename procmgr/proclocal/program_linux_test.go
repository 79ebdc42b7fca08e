package proclocal_test

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
}
