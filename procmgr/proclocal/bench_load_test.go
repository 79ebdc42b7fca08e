package proclocal_test

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/beside"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

const (
	callers = 16
	slice   = time.Second // how long each side has the machine
	// passing is how long a process is listed after its exit under load: so
	// List has some 80 processes.
	passing = 20 * time.Millisecond
)

// flood lets all callers run one command after the other for a slice. It
// returns the number of commands in a second.
func flood(b *testing.B, run func() error) float64 {
	b.Helper()
	var group sync.WaitGroup
	var runs atomic.Int64
	began := time.Now()
	for range callers {
		group.Go(func() {
			for time.Since(began) < slice {
				if !assert.NoError(b, run()) {
					return
				}
				runs.Add(1)
			}
		})
	}
	group.Wait()
	return float64(runs.Load()) / time.Since(began).Seconds()
}

// Sixteen callers at once, beside as many goroutines with the plainest way.
func BenchmarkStarts(b *testing.B) {
	l := newLocal(b, &proclocal.Options{Retain: passing, Shell: plainest})
	var x, y []float64
	for b.Loop() {
		x = append(x, flood(b, func() error { return runTrue(l) }))
		y = append(y, flood(b, runPlainTrue))
	}
	b.ReportMetric(beside.Median(x)/beside.Median(y), "ratio")
	b.ReportMetric(beside.Median(x), "starts/s-ours")
	b.ReportMetric(beside.Median(y), "starts/s-theirs")
	b.ReportMetric(0, "ns/op")
}

// List of 1,000 processes that live and do nothing.
func BenchmarkListLiving(b *testing.B) {
	l := unbounded(b)
	n := len(startSleeping(b, l, thousand()))
	for b.Loop() {
		require.Len(b, list(b, l), n)
	}
}

// The 20 processes of a page, of few that have ended and of many.
func BenchmarkListPage(b *testing.B) {
	for _, n := range []int{50, 8 * thousand()} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			l := newLocal(b, nil)
			for range n {
				run(b, l, "exit")
			}
			for b.Loop() {
				page, err := l.List(b.Context(), procmgr.ListRequest{Limit: 20})
				require.NoError(b, err)
				require.Equal(b, n, page.Total)
			}
		})
	}
}
