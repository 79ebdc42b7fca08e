package proclocal_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/beside"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

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
