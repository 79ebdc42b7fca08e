package toolset_test

import (
	"context"
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/internal/beside"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// The whole tool call, from the arguments to the result's JSON, beside the
// plainest way to run the same command in the same shell.
func BenchmarkExecuteTrue(b *testing.B) {
	benchmarkExecuteTrue(b, newBenchLocal(b).Chat("bench"))
}

// The same over HTTP on loopback: one round trip.
func BenchmarkExecuteTrueHTTP(b *testing.B) {
	benchmarkExecuteTrue(b, remote(b, newBenchLocal(b), nil, nil))
}

func newBenchLocal(b *testing.B) *proclocal.Local {
	b.Helper()
	return newHost(b, &proclocal.Options{Shell: []string{"sh", "-c"}}) // bash would hide what a call costs
}

func benchmarkExecuteTrue(b *testing.B, m procmgr.Manager) {
	set := newSet(toolset.Static(m), nil)
	call := toolset.Call{ID: "1", Name: "execute", Arguments: json.RawMessage(`{"command":"true"}`)}
	beside.Run(b, func() {
		result := set.Call(context.Background(), call)
		require.False(b, result.IsError, result.Content)
	}, func() {
		_, err := exec.Command("sh", "-c", "true").CombinedOutput()
		require.NoError(b, err)
	})
}
