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

// List while sixteen callers start processes, beside the copy of as large a map
// under an uncontended mutex. One goroutine calls both in turn.
func BenchmarkListUnderLoad(b *testing.B) {
	l := newLocal(b, &proclocal.Options{Retain: passing})
	var mu sync.Mutex
	copied := make(map[string]procmgr.Process)
	var listing, reading []time.Duration // of one slice

	ask := func() {
		began := time.Now()
		all := list(b, l)
		listing = append(listing, time.Since(began))
		// The map follows when the list has become much longer or shorter.
		if 4*len(copied) < 3*len(all) || 4*len(copied) > 5*len(all) {
			clear(copied)
			for _, p := range all {
				copied[p.ID] = p
			}
		}
	}
	read := func() {
		began := time.Now()
		mu.Lock()
		all := make([]procmgr.Process, 0, len(copied))
		for _, p := range copied {
			all = append(all, p)
		}
		mu.Unlock()
		reading = append(reading, time.Since(began))
		require.Len(b, all, len(copied))
	}

	var tailX, tailY []time.Duration // of each slice the p99
	for b.Loop() {
		listing, reading = listing[:0], reading[:0]
		over := make(chan struct{})
		go func() { // the loop waits for it
			defer close(over)
			flood(b, func() error { return runTrue(l) })
		}()
		for first, then := ask, read; ; first, then = then, first {
			first()
			then()
			select {
			case <-over:
			case <-time.After(500 * time.Microsecond):
				continue
			}
			break
		}
		tailX, tailY = append(tailX, beside.Quantile(listing, 0.99)), append(tailY, beside.Quantile(reading, 0.99))
	}
	b.ReportMetric(float64(beside.Median(tailX))/float64(beside.Median(tailY)), "p99-ratio")
	b.ReportMetric(beside.Microseconds(beside.Median(tailX)), "us-p99-ours")
	b.ReportMetric(beside.Microseconds(beside.Median(tailY)), "us-p99-theirs")
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
