package proctest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/internal/leftover"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// TestMain fails the run if it leaves goroutines, children or directories
// behind.
func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	// The cases make their directories here.
	temp, err := os.MkdirTemp("", "proctest")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(temp) }()
	if err := os.Setenv("TMPDIR", temp); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if code == 0 {
		if left := leftBehind(temp); left != "" {
			fmt.Fprintln(os.Stderr, "left behind by the tests:", left)
			code = 1
		}
	}
	return code
}

// leftBehind gives processes and goroutines that are ending a moment to end.
func leftBehind(temp string) (left string) {
	for range 200 {
		left = leftover.Goroutines("toolproc/procmgr")
		if children := leftover.Children(); len(children) > 0 {
			left += fmt.Sprint(" children: ", children)
		}
		if files, _ := filepath.Glob(filepath.Join(temp, "*")); len(files) > 0 {
			left += fmt.Sprint(" files: ", files)
		}
		if left == "" {
			return ""
		}
		time.Sleep(10 * time.Millisecond)
	}
	return left
}

// newLocal returns a Local that the test closes. Its Close must not fail.
func newLocal(t testing.TB, opts *proclocal.Options) *proclocal.Local {
	t.Helper()
	l, err := proclocal.New(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}
