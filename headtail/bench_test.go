package headtail_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/internal/beside"
)

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
			beside.Short(b, "x-copy", func() { _, _ = buf.Write(p) }, func() { copy(dst, p) })
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
			beside.Short(b, "x-floor", func() {
				textSink, _ = text.s.Text(headtail.Limits{})
			}, func() {
				validSink = utf8.Valid(all)
				linesSink = bytes.Count(all, []byte("\n"))
				textSink = string(all)
			})
		})
	}
}
