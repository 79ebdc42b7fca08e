package proclocal_test

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/beside"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// plainest is a shell that takes little time itself, or the one in a variable. The
// startup of bash would hide what a start costs.
var plainest = strings.Fields(cmp.Or(os.Getenv("PROCMGR_BENCHMARK_SHELL"), "sh -c"))

// A whole command, beside the plainest way to run it.
func BenchmarkStartTrue(b *testing.B) {
	l := newLocal(b, &proclocal.Options{Shell: plainest})
	beside.Run(b, func() { require.NoError(b, runTrue(l)) }, func() { require.NoError(b, runPlainTrue()) })
}

// runTrue runs a command that does nothing, to its end.
func runTrue(m procmgr.Manager) error {
	_, err := m.Start(context.Background(), procmgr.StartRequest{Command: "true", Wait: long})
	return err
}

// runPlainTrue is runTrue with os/exec.
func runPlainTrue() error {
	_, err := exec.Command("sh", "-c", "true").CombinedOutput()
	return err
}

// What the default shell costs: the same command in it and in sh.
func BenchmarkShell(b *testing.B) {
	l, sh := newLocal(b, nil), newLocal(b, &proclocal.Options{Shell: []string{"sh", "-c"}})
	beside.Run(b, func() { require.NoError(b, runTrue(l)) }, func() { require.NoError(b, runTrue(sh)) })
}
