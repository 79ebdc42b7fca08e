package procmgr_test

import (
	"cmp"
	"context"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
)

// beside runs two functions in turn, A B A B, and reports the ratio of their
// medians. So a noisy machine disturbs both alike.
func beside(b *testing.B, ours, theirs func()) {
	b.Helper()
	timed := func(f func()) func() time.Duration {
		return func() time.Duration {
			began := time.Now()
			f()
			return time.Since(began)
		}
	}
	besideTimes(b, timed(ours), timed(theirs))
}

// besideTimes is beside for functions that measure a part of their own work.
func besideTimes(b *testing.B, ours, theirs func() time.Duration) {
	b.Helper()
	var x, y []time.Duration
	for b.Loop() {
		x, y = append(x, ours()), append(y, theirs())
	}
	b.ReportMetric(float64(median(x))/float64(median(y)), "ratio")
	b.ReportMetric(microseconds(median(x)), "us-ours")
	b.ReportMetric(microseconds(median(y)), "us-theirs")
	b.ReportMetric(0, "ns/op") // of both together, and so of nothing
}

func median[T cmp.Ordered](xs []T) T { return quantile(xs, 0.5) }

// quantile returns the value below which a share q of xs lies.
func quantile[T cmp.Ordered](xs []T, q float64) T {
	sorted := slices.Sorted(slices.Values(xs))
	return sorted[int(q*float64(len(sorted)))]
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// A whole command, beside the plainest way to run it.
func BenchmarkStartTrue(b *testing.B) {
	l := newLocal(b, nil)
	beside(b, func() { require.NoError(b, runTrue(l)) }, func() { require.NoError(b, runPlainTrue()) })
}

// runTrue runs a command that does nothing, to its end.
func runTrue(m procmgr.Manager) error {
	_, err := m.Start(context.Background(), procmgr.StartRequest{Command: "true", Wait: long})
	return err
}

// runPlainTrue is runTrue with os/exec.
func runPlainTrue() error {
	_, err := exec.Command(plainShell(), "-c", "true").CombinedOutput()
	return err
}
