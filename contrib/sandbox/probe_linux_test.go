package sandbox_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/contrib/sandbox"
)

// Probe finds what the table of docs/security.md says.
func TestProbe(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	boundary := func(v sandbox.Verdict) sandbox.Verdict {
		if _, err := exec.LookPath("bwrap"); errors.Is(err, exec.ErrNotFound) {
			return sandbox.Refused
		}
		return v
	}
	environ := sandbox.Stopped
	if os.Geteuid() == 0 {
		environ = "" // it depends on the version of Linux
	}
	want := []struct{ accidents, boundary sandbox.Verdict }{
		{sandbox.Stopped, sandbox.Stopped},
		{sandbox.Stopped, sandbox.Stopped},
		{sandbox.Stopped, sandbox.Stopped},
		{sandbox.NotStopped, sandbox.Stopped},
		{sandbox.NotStopped, sandbox.NotStopped},
		{sandbox.Refused, sandbox.Stopped},
		{sandbox.Refused, sandbox.Stopped},
		{sandbox.Stopped, sandbox.Stopped},
		{sandbox.NotStopped, sandbox.Stopped},
		{sandbox.Stopped, sandbox.Stopped},
		{sandbox.Stopped, sandbox.Stopped},
		{environ, sandbox.Stopped},
	}
	findings := sandbox.Probe()
	require.GreaterOrEqual(t, len(findings), len(want))
	for _, f := range findings[len(want):] {
		require.Contains(t, f.Attempt, "with UnixSockets")
	}
	for i, f := range findings[:len(want)] {
		if want[i].accidents != "" {
			require.Equal(t, want[i].accidents, f.Accidents, f.Attempt)
		}
		require.Equal(t, boundary(want[i].boundary), f.Boundary, f.Attempt)
	}
	left, err := filepath.Glob(os.TempDir() + "/*/*")
	require.NoError(t, err)
	require.Empty(t, left)
	left, err = filepath.Glob(os.TempDir() + "/*")
	require.NoError(t, err)
	require.LessOrEqual(t, len(left), 1, "%v", left)
}
