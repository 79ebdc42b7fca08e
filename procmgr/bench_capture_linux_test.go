package procmgr_test

import (
	"context"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr"
)

// 2 GiB that a child writes in blocks of 64 KiB: beside a reader that throws
// away what it reads, from a pipe as large as ours grows to; beside the copy
// that os/exec makes for an io.Writer that does the same; and beside
// CombinedOutput, which keeps it all and so gets an eighth of it.
func BenchmarkCapture(b *testing.B) {
	blocks := 2 << 30 / block
	if testing.Short() {
		blocks /= 16
	}
	l := newLocal(b, nil)
	all, part := role(b, "write", blocks, ""), role(b, "write", blocks/8, "")
	var ours, empty, copied, combined, peaks []float64
	for b.Loop() {
		resident := measure(b).Resident
		resetPeak(b)
		ours = append(ours, rate(blocks, func() {
			out, err := l.Start(context.Background(), procmgr.StartRequest{Command: roleCommand, Env: all, Wait: long})
			require.NoError(b, err)
			require.Equal(b, procmgr.Exited, out.Process.State)
			require.Zero(b, *out.Process.ExitCode, out.Text)
			require.GreaterOrEqual(b, out.Next, int64(blocks)*block)
		}))
		peaks = append(peaks, float64(status(b, "VmHWM")<<10-resident))

		empty = append(empty, rate(blocks, func() { readAndForget(b, all) }))
		copied = append(copied, rate(blocks, func() {
			cmd := roleCmd(all)
			cmd.Stdout = struct{ io.Writer }{io.Discard} // hides that Discard reads by itself
			require.NoError(b, cmd.Run())
		}))
		combined = append(combined, rate(blocks/8, func() {
			_, err := roleCmd(part).CombinedOutput()
			require.NoError(b, err)
		}))
	}
	b.ReportMetric(median(ours)/median(empty), "x-empty")
	b.ReportMetric(median(ours)/median(copied), "x-copy")
	b.ReportMetric(median(ours)/median(combined), "x-combined")
	b.ReportMetric(median(ours), "GB/s-ours")
	b.ReportMetric(median(empty), "GB/s-empty")
	b.ReportMetric(median(copied), "GB/s-copy")
	b.ReportMetric(median(combined), "GB/s-combined")
	b.ReportMetric(median(peaks)/1e6, "MB-peak")
	b.ReportMetric(0, "ns/op")
}

// rate returns in GB/s how fast f passes n blocks.
func rate(n int, f func()) float64 {
	began := time.Now()
	f()
	return float64(n) * block / 1e9 / time.Since(began).Seconds()
}

// resetPeak has VmHWM begin anew, see proc_pid_clear_refs(5).
func resetPeak(b *testing.B) {
	require.NoError(b, os.WriteFile("/proc/self/clear_refs", []byte("5"), 0))
}

// readAndForget runs a child and reads what it writes into one buffer.
func readAndForget(b *testing.B, variables map[string]string) {
	r, w, err := os.Pipe()
	require.NoError(b, err)
	defer r.Close()
	conn, err := w.SyscallConn()
	require.NoError(b, err)
	require.NoError(b, conn.Control(func(fd uintptr) {
		_, err = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, 1<<20)
	}))
	require.NoError(b, err)
	cmd := roleCmd(variables)
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
