package main_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
)

// A start that waits for its end, through toolprocd stdio and a keeper, and in
// this process, in turns.
func BenchmarkStdio(b *testing.B) {
	local, err := procmgr.NewLocal(&procmgr.Options{LogDir: b.TempDir()})
	require.NoError(b, err)
	defer func() { require.NoError(b, local.Close()) }()
	far := newMachine(b).client(b)
	var took [2]time.Duration
	starts := 0
	for b.Loop() {
		for i, h := range []procmgr.Host{local, far} {
			began := time.Now()
			_, err := h.Start(b.Context(), procmgr.StartRequest{Command: "true", Wait: long})
			require.NoError(b, err)
			took[i] += time.Since(began)
		}
		starts++
	}
	b.ReportMetric(float64(took[0].Microseconds())/1000/float64(starts), "ms-local")
	b.ReportMetric(float64(took[1].Microseconds())/1000/float64(starts), "ms-stdio")
	b.ReportMetric(float64(took[1])/float64(took[0]), "ratio")
	b.ReportMetric(0, "ns/op") // it is the sum of both
}
