package proctest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/internal/leftover"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// TestMain fails the run if it leaves goroutines, children, descriptors or directories
// behind.
func TestMain(m *testing.M) {
	// The cases make their directories here.
	temp, err := os.MkdirTemp("", "proctest")
	if err == nil {
		err = os.Setenv("TMPDIR", temp)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := leftover.Run(m, "toolproc/procmgr")
	if files, _ := filepath.Glob(filepath.Join(temp, "*")); code == 0 && len(files) > 0 {
		fmt.Fprintln(os.Stderr, "left behind by the tests:", files)
		code = 1
	}
	_ = os.RemoveAll(temp)
	os.Exit(code)
}

// newLocal returns a Local that the test closes. Its Close must not fail.
func newLocal(t testing.TB, opts *proclocal.Options) *proclocal.Local {
	t.Helper()
	l, err := proclocal.New(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}
