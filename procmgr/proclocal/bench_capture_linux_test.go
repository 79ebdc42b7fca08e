package proclocal_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/internal/beside"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A child writes 2 GiB in blocks of 64 KiB. The manager is measured beside two
// others: a reader that throws away the bytes of a pipe as large as ours grows
// to, and the copy that os/exec makes for an io.Writer that does the same.
func BenchmarkCapture(b *testing.B) {
	blocks := 2 << 30 / block
	if testing.Short() {
		blocks /= 16
	}
	l := newLocal(b, nil)
	child := role(b, "write", blocks)
	var ours, empty, copied []float64
	for b.Loop() {
		ours = append(ours, rate(blocks, func() { capture(b, l, child, blocks) }))
		empty = append(empty, rate(blocks, func() { readAndForget(b, child) }))
		copied = append(copied, rate(blocks, func() {
			cmd := roleCmd(child)
			cmd.Stdout = struct{ io.Writer }{io.Discard} // hides that Discard reads by itself
			require.NoError(b, cmd.Run())
		}))
	}
	b.ReportMetric(beside.Median(ours)/beside.Median(empty), "x-empty")
	b.ReportMetric(beside.Median(ours)/beside.Median(copied), "x-copy")
	b.ReportMetric(beside.Median(ours), "GB/s-ours")
	b.ReportMetric(beside.Median(empty), "GB/s-empty")
	b.ReportMetric(beside.Median(copied), "GB/s-copy")
	b.ReportMetric(0, "ns/op")
}

// capture lets a manager take all the output of a child.
func capture(b *testing.B, m procmgr.Manager, child map[string]string, blocks int) {
	out, err := m.Start(context.Background(), procmgr.StartRequest{Command: roleCommand, Env: child, Wait: long})
	require.NoError(b, err)
	require.Equal(b, procmgr.Exited, out.Process.State)
	require.Zero(b, *out.Process.ExitCode, out.Text)
	require.GreaterOrEqual(b, out.Next, int64(blocks)*block)
}

// rate returns in GB/s how fast f passes n blocks.
func rate(n int, f func()) float64 {
	began := time.Now()
	f()
	return float64(n) * block / 1e9 / time.Since(began).Seconds()
}

// readAndForget runs a child and reads its output into one buffer.
func readAndForget(b *testing.B, child map[string]string) {
	r, w, err := os.Pipe()
	require.NoError(b, err)
	defer r.Close()
	conn, err := w.SyscallConn()
	require.NoError(b, err)
	require.NoError(b, conn.Control(func(fd uintptr) {
		_, err = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, 1<<20)
	}))
	require.NoError(b, err)
	cmd := roleCmd(child)
	cmd.Stdout = w
	require.NoError(b, cmd.Start())
	w.Close()
	buf := make([]byte, 256<<10)
	for err == nil {
		_, err = r.Read(buf)
	}
	require.ErrorIs(b, err, io.EOF)
	require.NoError(b, cmd.Wait())
}

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
	child := role(b, "build", blocks)
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

// buildOutput returns a block of what a build prints. Some lines have short
// strings of the patterns, inside of words.
func buildOutput() []byte {
	var text []byte
	for i := 0; len(text) < block; i++ {
		text = fmt.Appendf(text, "[%3d%%] Building CXX object src/core/CMakeFiles/core.dir/buffer_%d.cc.o\n", i%100, i)
		switch i % 8 {
		case 3:
			text = fmt.Appendf(text, "transforming (%d) src/hooks/useWebhook took %d ms\n", i, i%90)
		case 5:
			text = fmt.Appendf(text, "npm http fetch GET 200 https://packages.test/tok-book %dms (cache hit)\n", i%90)
		case 7:
			text = fmt.Appendf(text, "g++ -O2 -Wall -Iinclude -c src/net/socket_%d.cc -o build/net/socket_%d.o\n", i, i)
		}
	}
	return whole(text)
}

// whole makes a block of a text, with a whole line at its end.
func whole(text []byte) []byte {
	text = text[:block]
	text[block-1] = '\n'
	return text
}
