package procfile_test

import (
	"os"
	"testing"
)

// held skips a long test unless TOOLPROC_HELD is set, as it is in CI.
func held(t testing.TB) {
	t.Helper()
	if os.Getenv("TOOLPROC_HELD") == "" {
		t.Skip("it takes long; to run it, set TOOLPROC_HELD=1")
	}
}

// lacks skips a test because the machine lacks something. It fails in CI, where
// TOOLPROC_NEEDS is "all".
func lacks(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("TOOLPROC_NEEDS") == "all" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// root skips a test unless it runs as root.
func root(t testing.TB) {
	t.Helper()
	if os.Getuid() != 0 {
		lacks(t, "it takes root")
	}
}
