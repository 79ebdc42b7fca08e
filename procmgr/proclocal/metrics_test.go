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

// gauges are the counters that a host would export.
type gauges struct {
	mu                        sync.Mutex
	started, running, refused int
	limited                   int
	exits                     map[procmgr.Cause]int
	printed, omitted          int64
	waits                     []time.Duration
}

func (g *gauges) metrics() *proclocal.Metrics {
	locked := func(f func()) {
		g.mu.Lock()
		defer g.mu.Unlock()
		f()
	}
	return &proclocal.Metrics{
		Started: func() { locked(func() { g.started++ }) },
		Refused: func(err error) {
			locked(func() {
				g.refused++
				if errors.Is(err, procmgr.ErrLimit) {
					g.limited++
				}
			})
		},
		Exited: func(cause procmgr.Cause, ran time.Duration) {
			locked(func() {
				if ran >= 0 {
					g.exits[cause]++
				}
			})
		},
		Running: func(delta int) { locked(func() { g.running += delta }) },
		Output:  func(n int) { locked(func() { g.printed += int64(n) }) },
		Omitted: func(n int64) { locked(func() { g.omitted += n }) },
		Waited:  func(d time.Duration) { locked(func() { g.waits = append(g.waits, d) }) },
	}
}

// A host can count the work of a Local.
func TestMetrics(t *testing.T) {
	g := &gauges{exits: make(map[procmgr.Cause]int)}
	l := newLocal(t, &proclocal.Options{MaxRunningPerChat: 1, Metrics: g.metrics()})
	m := l.Chat("a")
	run(t, m, "sleep 0.1; echo hello")
	out := start(t, m, procmgr.StartRequest{ID: "x", Command: "head -c 1000 /dev/zero; echo ready; exec sleep 1000"})
	out = output(t, m, out.Process.ID, procmgr.OutputRequest{Until: "ready", Wait: long, Limit: headtail.Limits{Bytes: 200}})
	omitted := out.Truncated.OmittedBytes
	_, err := m.Start(t.Context(), procmgr.StartRequest{ID: "x", Command: out.Process.Command})
	require.NoError(t, err, "it is attached, and neither started nor refused")
	_, err = m.Start(t.Context(), procmgr.StartRequest{Command: "true"})
	require.ErrorIs(t, err, procmgr.ErrLimit)
	_, err = m.Start(t.Context(), procmgr.StartRequest{Command: ""})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	eventually(t, "one of the two is running", func() bool { // Metrics may hear of an exit after a caller
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.running == 1
	})
	output(t, m, "x", procmgr.OutputRequest{Wait: time.Millisecond})
	require.NoError(t, m.Signal(t.Context(), "x", procmgr.Kill))
	require.NoError(t, l.Close())

	g.mu.Lock()
	defer g.mu.Unlock()
	require.Equal(t, 2, g.started)
	require.Equal(t, 0, g.running)
	require.Equal(t, 2, g.refused)
	require.Equal(t, 1, g.limited)
	require.Equal(t, map[procmgr.Cause]int{procmgr.CauseExit: 1, procmgr.CauseRequest: 1}, g.exits)
	require.EqualValues(t, len("hello\n")+1000+len("ready\n"), g.printed)
	require.Equal(t, omitted, g.omitted)
	require.GreaterOrEqual(t, len(g.waits), 2)
	require.GreaterOrEqual(t, g.waits[0], 50*time.Millisecond)
}
