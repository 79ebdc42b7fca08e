package proclocal_test

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/beside"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// secretsOf makes random values of so many bytes.
func secretsOf(n, bytes int) (secrets []proclocal.Secret) {
	for i := range n {
		value := make([]byte, (bytes+1)/2)
		_, _ = rand.Read(value) // it never fails
		secrets = append(secrets, proclocal.Secret{Name: fmt.Sprint("SECRET_", i), Value: hex.EncodeToString(value)[:bytes]})
	}
	return secrets
}

// The output of a build, 256 MiB of them, with values to mask and without any.
func BenchmarkCaptureRedacted(b *testing.B) {
	const blocks = 256 << 20 / block
	plain := newLocal(b, nil)
	child := role(b, "build", blocks, "")
	for _, set := range []struct {
		name    string
		secrets []proclocal.Secret
	}{
		{"8of40", secretsOf(8, 40)}, {"8of16", secretsOf(8, 16)}, {"40of16", secretsOf(40, 16)}, {"8of40and1of5", append(secretsOf(8, 40), secretsOf(1, 5)...)},
	} {
		b.Run(set.name, func(b *testing.B) {
			masking := newLocal(b, &proclocal.Options{Redact: set.secrets})
			var ours, without []float64
			for b.Loop() {
				ours = append(ours, rate(blocks, func() { capture(b, masking, child, blocks) }))
				without = append(without, rate(blocks, func() { capture(b, plain, child, blocks) }))
			}
			b.ReportMetric(beside.Median(ours)/beside.Median(without), "x-without")
			b.ReportMetric(beside.Median(ours), "GB/s-ours")
			b.ReportMetric(beside.Median(without), "GB/s-without")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// A start with 8 values to mask, beside one with none.
func BenchmarkStartRedacted(b *testing.B) {
	masking, plain := newLocal(b, &proclocal.Options{Redact: secretsOf(8, 40), Shell: []string{"sh", "-c"}}), newLocal(b, &proclocal.Options{Shell: []string{"sh", "-c"}})
	start := func(l procmgr.Manager) {
		_, err := l.Start(b.Context(), procmgr.StartRequest{Command: "true", Wait: time.Minute})
		require.NoError(b, err)
	}
	start(masking)
	beside.Run(b, func() { start(masking) }, func() { start(plain) })
}
