package procmgr_test

import (
	"context"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
)

const (
	callers = 16
	slice   = time.Second // how long each side has the machine
)

// flood has 16 callers run one command after the other for a while, and returns
// how many there were in a second.
func flood(b *testing.B, d time.Duration, run func() error) float64 {
	b.Helper()
	var group sync.WaitGroup
	var runs atomic.Int64
	began := time.Now()
	for range callers {
		group.Go(func() {
			for time.Since(began) < d {
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

// crowded returns a Local that keeps what has exited for a moment alone, and a
// function that runs a command in it.
func crowded(b *testing.B) (*procmgr.Local, func() error) {
	l := newLocal(b, &procmgr.Options{Retain: 100 * time.Millisecond})
	req := procmgr.StartRequest{Command: "true", Wait: long}
	return l, func() error {
		_, err := l.Start(context.Background(), req)
		return err
	}
}

// Sixteen callers at once, beside as many goroutines with the plainest way.
func BenchmarkStarts(b *testing.B) {
	_, ours := crowded(b)
	theirs := func() error {
		_, err := exec.Command("sh", "-c", "true").CombinedOutput()
		return err
	}
	var x, y []float64
	for b.Loop() {
		x = append(x, flood(b, slice, ours))
		y = append(y, flood(b, slice, theirs))
	}
	b.ReportMetric(median(x)/median(y), "ratio")
	b.ReportMetric(median(x), "starts/s-ours")
	b.ReportMetric(median(y), "starts/s-theirs")
	b.ReportMetric(0, "ns/op")
}

// List while sixteen callers start processes, beside the copy of as large a map
// under a mutex that nobody else wants. Both are called in turns by one
// goroutine.
func BenchmarkListUnderLoad(b *testing.B) {
	l, run := crowded(b)
	var mu sync.Mutex
	read := make(map[string]procmgr.Process)
	var x, y []time.Duration
	size := 0
	list := func() {
		began := time.Now()
		all, err := l.List(context.Background())
		x = append(x, time.Since(began))
		require.NoError(b, err)
		size = max(size, len(all))
		if len(read) < len(all)*3/4 || len(read) > len(all)*5/4 {
			clear(read)
			for _, p := range all {
				read[p.ID] = p
			}
		}
	}
	mapRead := func() {
		began := time.Now()
		mu.Lock()
		all := make([]procmgr.Process, 0, len(read))
		for _, p := range read {
			all = append(all, p)
		}
		mu.Unlock()
		y = append(y, time.Since(began))
	}
	for b.Loop() {
		load := make(chan struct{})
		go func() { // ends after one slice; this loop waits for it
			defer close(load)
			flood(b, slice, run)
		}()
		for turn := 0; ; turn++ {
			select {
			case <-load:
			case <-time.After(500 * time.Microsecond):
				if turn%2 == 0 {
					list()
					mapRead()
				} else {
					mapRead()
					list()
				}
				continue
			}
			break
		}
	}
	b.ReportMetric(float64(quantile(x, 0.99))/float64(quantile(y, 0.99)), "p99-ratio")
	b.ReportMetric(microseconds(quantile(x, 0.99)), "us-p99-ours")
	b.ReportMetric(microseconds(quantile(y, 0.99)), "us-p99-theirs")
	b.ReportMetric(microseconds(median(x)), "us-median-ours")
	b.ReportMetric(microseconds(median(y)), "us-median-theirs")
	b.ReportMetric(float64(size), "processes")
	b.ReportMetric(float64(len(x)), "lists")
	b.ReportMetric(0, "ns/op")
}
