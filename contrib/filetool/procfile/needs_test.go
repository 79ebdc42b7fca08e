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

// root skips a test unless it runs as root.
func root(t testing.TB) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("it takes root")
	}
}
