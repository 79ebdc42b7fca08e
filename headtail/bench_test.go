package headtail_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/toolproc/toolproc/headtail"
)

// compare runs a and base in turns within one benchmark, so that both meet the
// machine in the same state. It reports the median time of a, divided by that
// of base.
func compare(b *testing.B, unit string, a, base func()) {
	times := func(n int, f func()) time.Duration {
		start := time.Now()
		for range n {
			f()
		}
		return time.Since(start)
	}
	// A turn is long compared with the clock's resolution, and short compared
	// with a disturbance of the machine.
	n := 1
	for times(n, base) < 100*time.Microsecond {
		n *= 2
	}
	var ours, floor []time.Duration
	for b.Loop() {
		ours = append(ours, times(n, a))
		floor = append(floor, times(n, base))
	}
	median := func(ds []time.Duration) float64 {
		slices.Sort(ds)
		return float64(ds[len(ds)/2])
	}
	b.ReportMetric(median(ours)/median(floor), unit)
	b.ReportMetric(median(ours)/float64(n), "ns/call")
	b.ReportMetric(testing.AllocsPerRun(10, a), "allocs/call")
	b.ReportMetric(0, "ns/op") // a time for both together would mean nothing
}

func BenchmarkWrite(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{
		{"100B", 100},
		{"4KiB", 4 << 10},
		{"32KiB", 32 << 10},
		{"64KiB", 64 << 10},
		{"1MiB", 1 << 20},
	} {
		b.Run(size.name, func(b *testing.B) {
			p := bytes.Repeat([]byte("x"), size.bytes)
			dst := make([]byte, len(p))
			buf := headtail.New(headtail.DefaultHead, headtail.DefaultTail)
			for buf.Total() < headtail.DefaultHead+headtail.DefaultTail {
				_, _ = buf.Write(p)
			}
			compare(b, "x-copy", func() { _, _ = buf.Write(p) }, func() { copy(dst, p) })
		})
	}
}

var (
	textSink  string
	validSink bool
	linesSink int
)

func BenchmarkText(b *testing.B) {
	line := strings.Repeat("0123456789", 6) + "abc\n"
	full := strings.Repeat(line, headtail.DefaultHead/len(line))
	accented := strings.Repeat(strings.Replace(line, "01", "é", 1), headtail.DefaultHead/len(line))
	for _, text := range []struct {
		name string
		s    headtail.Snapshot
	}{
		{"Whole", whole(full + full)},
		{"Whole/accented", whole(accented + accented)},
		{"Gap", gapped(full, 1<<20, full)},
		{"Gap/accented", gapped(accented, 1<<20, accented)},
		{"Gap/longLines", gapped(strings.ReplaceAll(full, "abc\n", "abcd"), 1<<20, strings.ReplaceAll(full, "abc\n", "abcd"))},
	} {
		b.Run(text.name, func(b *testing.B) {
			all := slices.Concat(text.s.Head, text.s.Tail)
			compare(b, "x-floor", func() {
				textSink, _ = text.s.Text(headtail.Limits{})
			}, func() {
				validSink = utf8.Valid(all)
				linesSink = bytes.Count(all, []byte("\n"))
				textSink = string(all)
			})
		})
	}
}

func BenchmarkSnapshot(b *testing.B) {
	buf := headtail.New(headtail.DefaultHead, headtail.DefaultTail)
	_, _ = buf.Write(make([]byte, 100<<10))
	all := make([]byte, headtail.DefaultHead+headtail.DefaultTail)
	var s headtail.Snapshot
	compare(b, "x-clone", func() { s = buf.Snapshot(0) }, func() { s.Head = bytes.Clone(all) })
}
