package servertest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// longTest skips a long test unless TOOLPROC_HELD is set, as CI does.
func longTest(t testing.TB) {
	t.Helper()
	if os.Getenv("TOOLPROC_HELD") == "" {
		t.Skip("it takes long; to run it, set TOOLPROC_HELD=1")
	}
}

// leftBehind returns the goroutines of procnats and the children that the tests have
// left behind. It waits a moment for the ones that are about to end.
func leftBehind() (left string) {
	for range 200 {
		left = ""
		buf := make([]byte, 1<<20)
		for g := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(g, "toolproc/contrib/procnats.") {
				left += g + "\n\n"
			}
		}
		files, _ := filepath.Glob("/proc/self/task/*/children")
		for _, f := range files {
			if children, _ := os.ReadFile(f); len(children) > 0 {
				left += fmt.Sprintf("children: %s\n", children)
			}
		}
		if left == "" {
			return ""
		}
		time.Sleep(10 * time.Millisecond)
	}
	return left
}
