package proclocal_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A host can count the work of a Local.
func TestMetrics(t *testing.T) {
	var mu sync.Mutex
	counts := make(map[string]int64)
	add := func(name string, n int64) {
		mu.Lock()
		defer mu.Unlock()
		counts[name] += n
	}
	l := newLocal(t, &proclocal.Options{MaxRunningPerChat: 1, Metrics: &proclocal.Metrics{
		Started: func() { add("started", 1) },
		Refused: func(err error) {
			add("refused", 1)
			if errors.Is(err, procmgr.ErrLimit) {
				add("limited", 1)
			}
		},
		Exited:  func(cause procmgr.Cause, _ time.Duration) { add("exited: "+string(cause), 1) },
		Running: func(delta int) { add("running", int64(delta)) },
		Output:  func(n int) { add("printed", int64(n)) },
		Omitted: func(n int64) { add("omitted", n) },
		Waited: func(d time.Duration) {
			if d >= 50*time.Millisecond {
				add("waited long", 1)
			}
		},
	}})
	m := l.Chat("a")
	run(t, m, "sleep 0.1; echo hello")
	start(t, m, procmgr.StartRequest{ID: "x", Command: "head -c 1000 /dev/zero; echo ready; exec sleep 1000"})
	out := output(t, m, "x", procmgr.OutputRequest{Until: "ready", Wait: long, Limit: headtail.Limits{Bytes: 200}})
	start(t, m, procmgr.StartRequest{ID: "x", Command: out.Process.Command}) // it is attached, and neither started nor refused
	_, err := m.Start(t.Context(), procmgr.StartRequest{Command: "true"})
	require.ErrorIs(t, err, procmgr.ErrLimit)
	_, err = m.Start(t.Context(), procmgr.StartRequest{Command: ""})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	eventually(t, "one of the two is running", func() bool { // Metrics may hear of an exit after a caller
		mu.Lock()
		defer mu.Unlock()
		return counts["running"] == 1
	})
	require.NoError(t, m.Signal(t.Context(), "x", procmgr.Kill))
	require.NoError(t, l.Close())

	mu.Lock()
	defer mu.Unlock()
	require.Positive(t, counts["waited long"])
	delete(counts, "waited long")
	require.Equal(t, map[string]int64{
		"started": 2, "running": 0, "refused": 2, "limited": 1, "exited: exit": 1, "exited: request": 1,
		"printed": int64(len("hello\n") + 1000 + len("ready\n")), "omitted": out.Truncated.OmittedBytes,
	}, counts)
}
