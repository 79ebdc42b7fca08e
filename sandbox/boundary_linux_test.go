package sandbox_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
	"github.com/toolproc/toolproc/procmgr/proctest"
	"github.com/toolproc/toolproc/sandbox"
)

// newBoundary returns a Local whose commands are in a box of Boundary.
func newBoundary(t testing.TB, p sandbox.Policy) *proclocal.Local {
	t.Helper()
	testenv.Programs(t, "bwrap", "nsenter")
	p.Level = sandbox.Boundary
	return newLocal(t, newBox(t, p))
}

// A Local with Boundary is a Host like another one.
func TestBoundaryHost(t *testing.T) {
	testenv.Programs(t, "bwrap", "nsenter")
	box := newBox(t, sandbox.Policy{Write: []string{os.TempDir()}, Level: sandbox.Boundary})
	proctest.TestHost(t, func(t *testing.T) procmgr.Host { return newLocal(t, box) })
}

// fails runs a command that does not exit with 0, and returns what it has printed.
func fails(t testing.TB, m procmgr.Manager, command string) string {
	t.Helper()
	out := run(t, m, command)
	require.NotZero(t, *out.Process.ExitCode, "%s: %s", command, out.Text)
	return out.Text
}
