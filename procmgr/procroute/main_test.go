package procroute_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/leftover"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// TestMain fails the run if the tests leave goroutines, children or descriptors
// behind.
func TestMain(m *testing.M) { os.Exit(leftover.Run(m, "toolproc/procmgr")) }

// newLocal returns a Local that the test closes, and that must end clean.
func newLocal(t testing.TB) *proclocal.Local {
	t.Helper()
	l, err := proclocal.New(nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

// long is a wait that a test reaches only if something is wrong.
const long = 2 * time.Minute

// run starts a command and waits until it has ended or is detached.
func run(t testing.TB, m procmgr.Manager, command string) procmgr.Output {
	t.Helper()
	out, err := m.Start(t.Context(), procmgr.StartRequest{Command: command, Wait: long})
	require.NoError(t, err)
	return out
}
