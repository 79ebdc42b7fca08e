package capture_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/internal/capture"
)

// What a search adds to each byte of output, for one matcher and for ten.
func BenchmarkAdd(b *testing.B) {
	var text []byte
	for i := 0; len(text) < 256<<10; i++ {
		text = fmt.Appendf(text, "[%3d%%] Building CXX object src/core/CMakeFiles/core.dir/buffer_%d.cc.o\n", i%100, i)
	}
	patterns := []string{
		"READY", `(?i)listening on .*:\d+`, "error|warn|ready", `(?i)error|fail`, `ready in \d+ ?ms`, `Local:\s+https?://`,
		`https?://(localhost|127\.0\.0\.1):\d+`, `(?i)server (is )?(running|started|listening)`, `Compiled (successfully|with warnings)|Failed to compile`, `webpack .* compiled`,
	}
	for _, n := range []int{0, 1, len(patterns)} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := newStream(capture.Options{Head: 16 << 10, Tail: 16 << 10})
			for _, pattern := range patterns[:n] {
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
