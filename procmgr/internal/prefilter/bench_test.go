package prefilter_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/toolproc/toolproc/procmgr/internal/prefilter"
)

// The output of a build, searched for patterns that it does not match, with so
// many places at once.
func BenchmarkIndex(b *testing.B) {
	text := bytes.Repeat([]byte("[  5%] Building CXX object src/core/CMakeFiles/core.dir/buffer_pool.cc.o\n"), 60)
	for _, pattern := range []string{"READY", `(?i)listening on .*:\d+`, "error|warn|ready", "FAIL|PASS|ok", `:\d{4,5}\b`} {
		for _, places := range []int{0, 32, 64} {
			f := prefilter.NewWith(parse(b, pattern), places)
			b.Run(fmt.Sprint(pattern, "/", places), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					if i := f.Index(text); i >= 0 {
						b.Fatalf("found at %d", i)
					}
				}
			})
		}
	}
}
