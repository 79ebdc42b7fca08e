package proclocal_test

import (
	"context"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/beside"
	"github.com/toolproc/toolproc/procmgr"
)

// The cost of a follower whose process prints nothing: memory, and hardly any
// time of a processor.
func BenchmarkFollowIdle(b *testing.B) {
	n := thousand()
	l := newLocal(b, nil)
	id := begin(b, l, "echo ready; exec sleep 600").Process.ID
	var bytes, threads, busy []int
	for b.Loop() {
		before := measure(b)
		ctx, cancel := context.WithCancel(b.Context())
		var all, begun sync.WaitGroup
		begun.Add(n)
		for range n {
			all.Go(func() {
				for chunk, err := range procmgr.Follow(ctx, l, id, nil) {
					if err != nil {
						assert.ErrorIs(b, err, context.Canceled)
						return
					}
					assert.Equal(b, "ready\n", chunk.Text)
					begun.Done()
				}
			})
		}
		begun.Wait()
		time.Sleep(2 * time.Second) // by then each waits for over a second
		used, began := processorTime(b), time.Now()
		time.Sleep(time.Second)
		busy = append(busy, int(float64(processorTime(b)-used)/float64(time.Since(began))*1e6))
		cost := measure(b).minus(before)
		bytes, threads = append(bytes, cost.Go), append(threads, cost.Threads)
		cancel()
		all.Wait()
	}
	b.ReportMetric(float64(beside.Median(bytes))/float64(n)/1024, "KiB-Go/follow")
	b.ReportMetric(float64(beside.Median(threads)), "threads")
	b.ReportMetric(float64(beside.Median(busy))/1e4, "%-of-a-processor")
	b.ReportMetric(0, "ns/op")
}

// processorTime is how long this program has run on a processor.
func processorTime(t testing.TB) time.Duration {
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
