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
