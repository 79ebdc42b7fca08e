package prochttp_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// waiters is how many callers wait at the same time.
const waiters = 1000

// patience is a time that so many connections need only if something is wrong,
// also under the race detector. For so long a client goes on if it cannot make
// one, too: on a busy machine, some of a thousand dials time out.
const patience = 4 * long

// Many callers wait for the same line: over HTTP/1.1, where each holds a
// connection, over HTTP/2, where they share a few, and in this process.
func BenchmarkWaiters(b *testing.B) {
	for _, bench := range []struct {
		name string
		host func(testing.TB, procmgr.Host) procmgr.Host
	}{
		{"local", func(_ testing.TB, local procmgr.Host) procmgr.Host { return local }},
		{"http1", func(b testing.TB, local procmgr.Host) procmgr.Host {
			return newClient(b, serve(b, newHandler(b, local, nil)), nil)
		}},
		{"http2", func(b testing.TB, local procmgr.Host) procmgr.Host { return overTLS(b, local) }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			for b.Loop() {
				each, last := wakeMany(b, bench.host)
				b.ReportMetric(each/1024, "KiB/waiter")
				b.ReportMetric(float64(last.Microseconds())/1000, "ms-last")
			}
			b.ReportMetric(0, "ns/op") // it is mostly the time of the preparation
		})
	}
}

// wakeMany lets many callers wait for a line, and prints it. It returns the bytes
// of memory that each caller took, client and server together, and how long
// after the line the last caller returned.
func wakeMany(t testing.TB, host func(testing.TB, procmgr.Host) procmgr.Host) (each float64, last time.Duration) {
	t.Helper()
	file := filepath.ToSlash(filepath.Join(t.TempDir(), "go"))
	local := &countingHost{Local: newLocal(t, nil)}
	m := host(t, local)
	id := begin(t, local, `echo ready; while [ ! -e `+file+` ]; do sleep 0.01; done; date +%s%N; exec sleep 1000`).Process.ID
	before := memory()
	results := make(chan error, waiters)
	ends := make(chan time.Time, waiters)
	for range waiters {
		go func() {
			out, err := m.Output(t.Context(), id, procmgr.OutputRequest{From: int64(len("ready\n")), Until: "^[0-9]+$", Wait: patience})
			ends <- time.Now()
			if err == nil && !out.Matched {
				err = os.ErrDeadlineExceeded
			}
			results <- err
		}()
	}
	require.Eventually(t, func() bool { return local.waiting.Load() == waiters || len(results) > 0 }, patience, 10*time.Millisecond)
	each = float64(memory()-before) / waiters
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	var latest time.Time
	for range waiters {
		require.NoError(t, <-results)
		if at := <-ends; at.After(latest) {
			latest = at
		}
	}
	out := output(t, local, id, procmgr.OutputRequest{From: int64(len("ready\n"))})
	printed, err := strconv.ParseInt(strings.TrimSpace(out.Text), 10, 64)
	require.NoError(t, err)
	return each, latest.Sub(time.Unix(0, printed))
}

// A countingHost counts the calls that wait.
type countingHost struct {
	*proclocal.Local
	waiting atomic.Int64
}

func (h *countingHost) Output(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	if req.Wait > 0 {
		h.waiting.Add(1)
		defer h.waiting.Add(-1)
	}
	return h.Local.Output(ctx, id, req)
}

// memory returns the bytes that live objects and stacks take.
func memory() uint64 {
	runtime.GC()
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() + samples[1].Value.Uint64()
}

// BenchmarkCall measures a start over HTTP on loopback, with a host that answers
// at once: what the wire alone costs.
func BenchmarkCall(b *testing.B) {
	benchmarkCall(b, actor{t: b, out: about(procmgr.Output{Process: ofChat("x")})}, func(m procmgr.Manager) error {
		_, err := m.Start(b.Context(), procmgr.StartRequest{ID: "x", Command: "true", Wait: long})
		return err
	})
}

// The same with an answer of as much output as one holds by default, in lines of
// 80 bytes.
func BenchmarkCallOutput(b *testing.B) {
	b.SetBytes(headtail.DefaultTextLimit)
	text := strings.Repeat(strings.Repeat("x", 79)+"\n", headtail.DefaultTextLimit/80)
	benchmarkCall(b, actor{t: b, out: about(procmgr.Output{Process: ofChat("x"), Text: text})}, func(m procmgr.Manager) error {
		_, err := m.Output(b.Context(), "x", procmgr.OutputRequest{})
		return err
	})
}

// The same with a list of 10,000 processes.
func BenchmarkCallList(b *testing.B) {
	all := make([]procmgr.Process, 10_000)
	for i := range all {
		all[i] = ofChat("0123456789")
		all[i].Command, all[i].WorkDir = "go test ./...", "/home/user/project"
		all[i].StartedAt, all[i].ExitedAt = time.Unix(int64(i), 1), time.Unix(int64(i), 2)
	}
	benchmarkCall(b, actor{t: b, list: all}, func(m procmgr.Manager) error {
		_, err := m.List(b.Context(), procmgr.ListRequest{})
		return err
	})
}

func benchmarkCall(b *testing.B, host procmgr.Host, call func(procmgr.Manager) error) {
	m := newClient(b, serve(b, newHandler(b, host, nil)), nil).Chat("chat-1")
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, call(m))
	}
}

// ofChat returns a process of the chat of the benchmarks, which has ended.
func ofChat(id string) procmgr.Process {
	return procmgr.Process{ID: id, ChatID: "chat-1", PID: 1, State: procmgr.Exited, ExitCode: new(int), EndedBy: procmgr.CauseExit}
}
