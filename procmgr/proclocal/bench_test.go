package proclocal_test

import (
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

// plainest is a shell that takes little time itself. The startup of bash would
// hide what a start costs.
var plainest = []string{"sh", "-c"}

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
	_, err := exec.Command(plainest[0], plainest[1], "true").CombinedOutput()
	return err
}

// What the default shell costs: the same command in it and in sh.
func BenchmarkShell(b *testing.B) {
	l, sh := newLocal(b, nil), newLocal(b, &proclocal.Options{Shell: []string{"sh", "-c"}})
	beside.Run(b, func() { require.NoError(b, runTrue(l)) }, func() { require.NoError(b, runTrue(sh)) })
}

// A command in the shell that a variable has, such as "/bin/busybox sh -c",
// beside CombinedOutput of sh -c.
func BenchmarkStaticShell(b *testing.B) {
	words := strings.Fields(os.Getenv("PROCMGR_BENCHMARK_SHELL"))
	if len(words) == 0 {
		b.Log("set PROCMGR_BENCHMARK_SHELL to the words of a shell")
		return
	}
	l := newLocal(b, &proclocal.Options{Shell: words})
	beside.Run(b, func() { require.NoError(b, runTrue(l)) }, func() {
		_, err := exec.Command("sh", "-c", "true").CombinedOutput()
		require.NoError(b, err)
	})
}
