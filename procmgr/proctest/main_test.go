package proctest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
		left = goroutines()
		if children := children(); len(children) > 0 {
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

func goroutines() string {
	buf := make([]byte, 1<<20)
	all := string(buf[:runtime.Stack(buf, true)])
	var ours []string
	for _, g := range strings.Split(all, "\n\n") {
		if strings.Contains(g, "toolproc/procmgr.") || strings.Contains(g, "toolproc/procmgr/proctest.") {
			ours = append(ours, g)
		}
	}
	return strings.Join(ours, "\n\n")
}

// children returns the children of this program, as Linux lists them.
func children() []string {
	files, _ := filepath.Glob("/proc/self/task/*/children")
	var all []string
	for _, f := range files {
		text, _ := os.ReadFile(f)
		all = append(all, strings.Fields(string(text))...)
	}
	return all
}

// newLocal returns a Local that the test closes. Its Close must not fail.
func newLocal(t testing.TB, opts *proclocal.Options) *proclocal.Local {
	t.Helper()
	l, err := proclocal.New(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}
