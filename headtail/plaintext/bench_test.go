package plaintext_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/toolproc/toolproc/headtail/plaintext"
	"github.com/toolproc/toolproc/internal/beside"
)

// BenchmarkTerminal writes text that needs much cleaning. It compares the Writer with a copy
// of the bytes, the least work for any caller that keeps them.
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
			call := beside.Short(b, "x-copy", func() { _, _ = w.Write(p) }, func() { copy(dst, p) })
			b.ReportMetric(size/call*1e3, "MB/s")
		})
	}
}
