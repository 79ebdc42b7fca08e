//go:build linux

package sandbox_test

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// held skips a long test unless TOOLPROC_HELD is set, as it is in CI.
func held(t testing.TB) {
	t.Helper()
	if os.Getenv("TOOLPROC_HELD") == "" {
		t.Skip("it takes long; to run it, set TOOLPROC_HELD=1")
	}
}

// root skips a test that needs the rights of root, unless root runs it.
func root(t testing.TB) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can do this")
	}
}

// programs skips a test unless all of some programs are on PATH.
func programs(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%v", err)
		}
	}
}

// compare runs two functions in turns, so that a noisy machine disturbs both alike, and
// reports the medians of their times and the ratio of these.
func compare(b *testing.B, ours, theirs func()) {
	b.Helper()
	var x, y []time.Duration
	for b.Loop() {
		x, y = append(x, timed(ours)), append(y, timed(theirs))
	}
	slices.Sort(x)
	slices.Sort(y)
	a, c := x[len(x)/2], y[len(y)/2]
	b.ReportMetric(0, "ns/op") // of both together, and so of nothing
	b.ReportMetric(float64(a)/float64(c), "ratio")
	b.ReportMetric(float64(a.Microseconds()), "us-ours")
	b.ReportMetric(float64(c.Microseconds()), "us-theirs")
}

func timed(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}
