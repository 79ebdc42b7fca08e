package prefilter_test

import (
	"bytes"
	"testing"

	"github.com/toolproc/toolproc/procmgr/internal/prefilter"
)

// The output of a build, searched for patterns that it does not match.
func BenchmarkIndex(b *testing.B) {
	text := bytes.Repeat([]byte("[  5%] Building CXX object src/core/CMakeFiles/core.dir/buffer_pool.cc.o\n"), 60)
	for _, pattern := range []string{"READY", `(?i)listening on .*:\d+`, "error|warn|ready", "FAIL|PASS|ok", `:\d{4,5}\b`} {
		f := prefilter.New(parse(b, pattern))
		b.Run(pattern, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if i := f.Index(text); i >= 0 {
					b.Fatalf("found at %d", i)
				}
			}
		})
	}
}
