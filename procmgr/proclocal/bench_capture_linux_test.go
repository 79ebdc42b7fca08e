package proclocal_test

import (
	"context"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/internal/beside"
	"github.com/toolproc/toolproc/procmgr"
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
	child := role(b, "write", blocks, "")
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

// 128 MiB, beside CombinedOutput, which keeps all of it.
func BenchmarkCaptureCombined(b *testing.B) {
	blocks := 128 << 20 / block
	if testing.Short() {
		blocks /= 8
	}
	l := newLocal(b, nil)
	child := role(b, "write", blocks, "")
	var ours, combined []float64
	for b.Loop() {
		ours = append(ours, rate(blocks, func() { capture(b, l, child, blocks) }))
		combined = append(combined, rate(blocks, func() {
			_, err := roleCmd(child).CombinedOutput()
			require.NoError(b, err)
		}))
	}
	b.ReportMetric(beside.Median(ours)/beside.Median(combined), "x-combined")
	b.ReportMetric(beside.Median(ours), "GB/s-ours")
	b.ReportMetric(beside.Median(combined), "GB/s-combined")
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
