package procmgr_test

import (
	"context"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
)

// beside runs two functions in turn and reports the ratio of their medians: one
// run, A B A B, so that a noisy machine disturbs both alike.
func beside(b *testing.B, ours, theirs func()) {
	b.Helper()
	var x, y []time.Duration
	for b.Loop() {
		began := time.Now()
		ours()
		middle := time.Now()
		theirs()
		x, y = append(x, middle.Sub(began)), append(y, time.Since(middle))
	}
	slices.Sort(x)
	slices.Sort(y)
	b.ReportMetric(float64(x[len(x)/2])/float64(y[len(y)/2]), "ratio")
	b.ReportMetric(float64(x[len(x)/2].Microseconds()), "us-ours")
	b.ReportMetric(float64(y[len(y)/2].Microseconds()), "us-theirs")
}

// A whole command, beside the plainest way to run it.
func BenchmarkStartTrue(b *testing.B) {
	l := newLocal(b, nil)
	req := procmgr.StartRequest{Command: "true", Wait: long}
	beside(b, func() {
		out, err := l.Start(context.Background(), req)
		require.NoError(b, err)
		require.Equal(b, procmgr.Exited, out.Process.State)
	}, func() {
		_, err := exec.Command("sh", "-c", "true").CombinedOutput()
		require.NoError(b, err)
	})
}
