package plaintext_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/toolproc/toolproc/headtail/plaintext"
	"github.com/toolproc/toolproc/internal/beside"
)

// written compares a call that takes size bytes with another one. It reports also
// how many bytes the call takes in a second.
func written(b *testing.B, size int, unit string, a, base func()) {
	b.Helper()
	b.ReportMetric(float64(size)/beside.Short(b, unit, a, base)*1e3, "MB/s")
}

// BenchmarkPlain writes text that needs no cleaning. It compares the Writer
// with a copy of the bytes, the least work for any caller that keeps them.
func BenchmarkPlain(b *testing.B) {
	for _, text := range []struct{ name, line string }{
		{"lines", "a line of output, as long as most lines are in a build's log\n"},
		{"oneLine", "x"},
		{"zeros", "\x00"},
	} {
		for _, size := range []int{100, 4 << 10, 32 << 10, 64 << 10, 1 << 20} {
			b.Run(fmt.Sprintf("%s/%dB", text.name, size), func(b *testing.B) {
				p := bytes.Repeat([]byte(text.line), size/len(text.line)+1)[:size]
				dst := make([]byte, len(p))
				w := plaintext.NewWriter(io.Discard)
				written(b, size, "x-copy", func() { _, _ = w.Write(p) }, func() { copy(dst, p) })
			})
		}
	}
}

// BenchmarkTerminal writes text that needs much cleaning.
func BenchmarkTerminal(b *testing.B) {
	for _, text := range []struct{ name, line string }{
		{"colours", "\x1b[32m    ok\x1b[0m  \x1b[1mTestName\x1b[0m  \x1b[2m(0.01s)\x1b[0m in a package of some name\n"},
		{"sparse", "a line of output, and a \x1b[31mred\x1b[0m word in each of its lines, among many others\n"},
		{"dense", "\x1b[31ma\x1b[32mb\x1b[33mc\n"},
		{"progress", "\rReceiving objects:  10% (123/1234), 1.20 MiB | 2.00 MiB/s"},
		{"spinner", "\x1b[1G|\x1b[0K\x1b[1G/\x1b[0K"},
		{"crlf", "a line of output, as long as most lines are in a build's log\r\n"},
		{"links", "\x1b]8;;https://example.com/some/path/to/a/file.txt\x1b\\file.txt\x1b]8;;\x1b\\\n"},
	} {
		b.Run(text.name, func(b *testing.B) {
			const size = 32 << 10
			p := bytes.Repeat([]byte(text.line), size/len(text.line)+1)[:size]
			dst := make([]byte, len(p))
			w := plaintext.NewWriter(io.Discard)
			written(b, size, "x-copy", func() { _, _ = w.Write(p) }, func() { copy(dst, p) })
		})
	}
}
