package capture_test

import (
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/beside"
	"github.com/toolproc/toolproc/procmgr/internal/capture"
)

// What a search adds to each byte of output: for none, for one pattern, and for all of
// them at once.
func BenchmarkAdd(b *testing.B) {
	var text []byte
	for i := 0; len(text) < 256<<10; i++ {
		text = fmt.Appendf(text, "[%3d%%] Building CXX object src/core/CMakeFiles/core.dir/buffer_%d.cc.o\n", i%100, i)
	}
	patterns := []string{
		"READY", `(?i)listening on .*:\d+`, "error|warn|ready", `(?i)error|fail`, `ready in \d+ ?ms`, `Local:\s+https?://`,
		`https?://(localhost|127\.0\.0\.1):\d+`, `(?i)server (is )?(running|started|listening)`, `Compiled (successfully|with warnings)|Failed to compile`, `webpack .* compiled`,
		`(?i)\b(error|failed)\b`, `^(FAIL|ok)\s`,
	}
	sets := map[string][]string{"none": nil, "all": patterns}
	for _, pattern := range patterns {
		sets[pattern] = []string{pattern}
	}
	for name, set := range sets {
		b.Run(name, func(b *testing.B) {
			s := newStream(capture.Options{Head: 16 << 10, Tail: 16 << 10, Raw: true})
			for _, pattern := range set {
				require.NoError(b, s.Watch(b.Context(), matcher(b, pattern), 0))
			}
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				s.Add(text)
			}
			s.End()
		})
	}
}

// A search of a log of 64 MB that the window has dropped, beside reading the
// file.
func BenchmarkSearchLog(b *testing.B) {
	var text []byte
	for i := 0; len(text) < 1<<20; i++ {
		text = fmt.Appendf(text, "[%3d%%] Building CXX object src/core/CMakeFiles/core.dir/buffer_%d.cc.o\n", i%100, i)
	}
	s := newStream(capture.Options{Head: 16 << 10, Tail: 16 << 10})
	s.LogTo(openLogs(b, capture.LogOptions{}))
	for range 64 {
		s.Add(text)
	}
	s.End()
	path, failed := s.Log()
	require.Empty(b, failed)
	read := func() {
		file, err := os.Open(path)
		require.NoError(b, err)
		defer file.Close()
		buf := make([]byte, 64<<10)
		for {
			if _, err := file.Read(buf); err == io.EOF {
				return
			}
		}
	}
	search := func() {
		m := matcher(b, `(?i)listening on .*:\d+|error|ready`)
		require.NoError(b, s.Watch(b.Context(), m, 0))
		page := s.Read(s.Total(), noLimit, m)
		require.False(b, page.Matched)
		require.Zero(b, page.Unsearched)
	}
	beside.Run(b, search, read)
}
