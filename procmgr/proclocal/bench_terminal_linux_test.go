package proclocal_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// The cost of a terminal whose program has drawn its prompt and waits.
func BenchmarkIdleTerminals(b *testing.B) {
	const n = 1000
	var g gauge
	for b.Loop() {
		g = terminals(b, n)
	}
	b.ReportMetric(float64(g.Threads), "threads")
	b.ReportMetric(float64(g.Resident)/n/1024, "KiB")
	b.ReportMetric(float64(g.Go)/n/1024, "KiB-Go")
	b.ReportMetric(0, "ns/op")
}

// Many terminals take no thread.
func TestHeldIdleTerminals(t *testing.T) {
	testenv.Held(t)
	t.Parallel() // a program of its own
	many := testenv.Rounds(300, 1000)
	g := terminals(t, many)
	require.Less(t, g.Threads, 20, "a poller, and the threads of Go itself")
	t.Logf("%d threads, %d KiB for each terminal", g.Threads, g.Resident/many/1024)
}

// terminals lets a program of its own start n terminals. It returns the
// resources that the program holds with them and did not hold before.
func terminals(t testing.TB, n int) (g gauge) {
	report := filepath.Join(t.TempDir(), "report")
	out, err := roleCmd(role(t, "idle-terminals", n, report)).CombinedOutput()
	require.NoError(t, err, "%s", out)
	text, err := os.ReadFile(report)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &g))
	return g
}

func idleTerminals(t *testing.T, n int) gauge {
	l := newLocal(t, &proclocal.Options{MaxRunning: -1, StopGrace: time.Minute})
	warmUp(t, func() error { return runTrue(l) })
	before := measure(t)
	ids := make([]string, n)
	for i := range ids {
		out, err := l.Start(context.Background(), procmgr.StartRequest{Command: "printf '> '; read -r x", Stdin: procmgr.StdinTerminal})
		require.NoError(t, err)
		ids[i] = out.Process.ID
	}
	for _, id := range ids {
		ready(t, l, id, "^> $")
	}
	return measure(t).minus(before)
}
