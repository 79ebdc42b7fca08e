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

// A child writes 2 GiB in blocks of 64 KiB. The manager is measured beside
// three others: a reader that throws away the bytes of a pipe as large as ours
// grows to; splice to /dev/null, which moves pages and copies nothing; and the
// copy that os/exec makes for an io.Writer that throws the bytes away.
func BenchmarkCapture(b *testing.B) {
	blocks := 2 << 30 / block
	if testing.Short() {
		blocks /= 16
	}
	l := newLocal(b, nil)
	child := role(b, "write", blocks, "")
	var ours, empty, spliced, copied, peaks []float64
	for b.Loop() {
		resident := measure(b).Resident
		resetPeak(b)
		ours = append(ours, rate(blocks, func() { capture(b, l, child, blocks) }))
		peaks = append(peaks, float64(status(b, "VmHWM")<<10-resident))
		empty = append(empty, rate(blocks, func() { readAndForget(b, child, forget) }))
		spliced = append(spliced, rate(blocks, func() { readAndForget(b, child, spliceAway) }))
		copied = append(copied, rate(blocks, func() {
			cmd := roleCmd(child)
			cmd.Stdout = struct{ io.Writer }{io.Discard} // hides that Discard reads by itself
			require.NoError(b, cmd.Run())
		}))
	}
	b.ReportMetric(beside.Median(ours)/beside.Median(empty), "x-empty")
	b.ReportMetric(beside.Median(ours)/beside.Median(spliced), "x-splice")
	b.ReportMetric(beside.Median(ours)/beside.Median(copied), "x-copy")
	b.ReportMetric(beside.Median(ours), "GB/s-ours")
	b.ReportMetric(beside.Median(empty), "GB/s-empty")
	b.ReportMetric(beside.Median(spliced), "GB/s-splice")
	b.ReportMetric(beside.Median(copied), "GB/s-copy")
	b.ReportMetric(beside.Median(peaks)/1e6, "MB-peak")
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

// resetPeak resets VmHWM, see proc_pid_clear_refs(5).
func resetPeak(b *testing.B) {
	require.NoError(b, os.WriteFile("/proc/self/clear_refs", []byte("5"), 0))
}

// readAndForget runs a child and lets a function read its output.
func readAndForget(b *testing.B, child map[string]string, read func(*testing.B, *os.File)) {
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
	read(b, r)
	require.NoError(b, cmd.Wait())
}

// forget reads into one buffer.
func forget(b *testing.B, r *os.File) {
	buf := make([]byte, 256<<10)
	var err error
	for err == nil {
		_, err = r.Read(buf)
	}
	require.ErrorIs(b, err, io.EOF)
}

// spliceAway moves the incoming bytes to /dev/null and does not read them. It
// blocks a thread, because the descriptor that Fd returns blocks.
func spliceAway(b *testing.B, r *os.File) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(b, err)
	defer null.Close()
	in, out := int(r.Fd()), int(null.Fd())
	for {
		n, err := unix.Splice(in, nil, out, nil, 1<<20, 0)
		if err == unix.EINTR {
			continue
		}
		require.NoError(b, err)
		if n == 0 {
			return
		}
	}
}
