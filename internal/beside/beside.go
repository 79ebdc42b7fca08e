// Package beside compares two ways to do the same in one benchmark. They run in
// turns, A B A B, so that a noisy machine disturbs both alike, and their medians
// are compared.
package beside

import (
	"cmp"
	"slices"
	"testing"
	"time"
)

// Run runs two functions in turns. It reports the medians of their times, and how
// many times as long as theirs ours takes.
func Run(b *testing.B, ours, theirs func()) {
	b.Helper()
	Times(b, func() time.Duration { return timed(1, ours) }, func() time.Duration { return timed(1, theirs) })
}

// Times is Run for functions that measure a part of their own work.
func Times(b *testing.B, ours, theirs func() time.Duration) {
	b.Helper()
	x, y := inTurns(b, ours, theirs)
	b.ReportMetric(float64(x)/float64(y), "ratio")
	b.ReportMetric(Microseconds(x), "us-ours")
	b.ReportMetric(Microseconds(y), "us-theirs")
}

// Short is Run for functions that take less time than can be measured. It reports
// how many times as long as theirs ours takes, under a name, and what a call of
// ours takes and allocates. It returns that time in nanoseconds.
func Short(b *testing.B, name string, ours, theirs func()) float64 {
	b.Helper()
	// A turn is long compared with the clock's resolution, and short compared
	// with a disturbance of the machine.
	n := 1
	for timed(n, theirs) < 100*time.Microsecond {
		n *= 2
	}
	x, y := inTurns(b, func() time.Duration { return timed(n, ours) }, func() time.Duration { return timed(n, theirs) })
	call := float64(x) / float64(n)
	b.ReportMetric(float64(x)/float64(y), name)
	b.ReportMetric(call, "ns/call")
	b.ReportMetric(testing.AllocsPerRun(10, ours), "allocs/call")
	return call
}

func timed(n int, f func()) time.Duration {
	began := time.Now()
	for range n {
		f()
	}
	return time.Since(began)
}

// inTurns returns the medians.
func inTurns(b *testing.B, ours, theirs func() time.Duration) (time.Duration, time.Duration) {
	b.Helper()
	var x, y []time.Duration
	for b.Loop() {
		x, y = append(x, ours()), append(y, theirs())
	}
	b.ReportMetric(0, "ns/op") // of both together, and so of nothing
	return Median(x), Median(y)
}

// Median returns the value in the middle of xs.
func Median[T cmp.Ordered](xs []T) T { return slices.Sorted(slices.Values(xs))[len(xs)/2] }

// Microseconds returns a time in the unit of most metrics.
func Microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
