package shellfacts_test

import (
	"os"
	"os/exec"
	"testing"
)

// held skips a long test unless TOOLPROC_HELD is set, as it is in CI.
func held(t testing.TB) {
	t.Helper()
	if os.Getenv("TOOLPROC_HELD") == "" {
		t.Skip("it takes long; to run it, set TOOLPROC_HELD=1")
	}
}

// rounds returns how often a long test repeats what it does: all rounds if
// TOOLPROC_HELD is "all".
func rounds(few, all int) int {
	if os.Getenv("TOOLPROC_HELD") == "all" {
		return all
	}
	return few
}

// programs skips a test unless all of some programs are on PATH.
func programs(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%v", err)
		}
	}
}
