package capture_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr/internal/capture"
)

// What falls out of the window while a wait begins is looked for in the log, also
// where the search is as fast as the writer.
func TestUntilFollowsTheLog(t *testing.T) {
	const lines = 1000
	s := newStream(capture.Options{Head: 100, Tail: 100, Raw: true})
	s.LogTo(openLogs(t, capture.LogOptions{}))
	defer s.End()

	filler := strings.Repeat("x", 30_000) + "\n"
	size := len(fmt.Sprintf("%sline %06d\n%s", filler, 0, filler))
	var written atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range lines {
			s.Add(fmt.Appendf(nil, "%sline %06d\n%s", filler, i, filler))
			written.Store(int64(i) + 1)
		}
	}()
	all := make(map[int64]*capture.Matcher)
	for last := int64(-1); last < lines-1; {
		i := written.Load() // the line that is being written
		if i == last || i == lines {
			last = i
			continue
		}
		last = i
		m, err := capture.NewMatcher(fmt.Sprintf("^line %06d$", i))
		require.NoError(t, err)
		require.NoError(t, s.Watch(t.Context(), m, max(i-2, 0)*int64(size)))
		all[i] = m
	}
	<-done
	for i, m := range all {
		require.True(t, matched(m), "line %d of %d", i, len(all))
	}
}

// Whoever reads what the window has dropped gets all of it, also while the log
// ends.
func TestReadWhileTheLogEnds(t *testing.T) {
	logs := openLogs(t, capture.LogOptions{})
	limit := headtail.Limits{Bytes: 100_000, Line: -1}
	for range 50 {
		s := newStream(capture.Options{Head: 10, Tail: 10, Raw: true})
		s.LogTo(logs)
		s.Add([]byte(strings.Repeat("0123456789", 20_000)))
		want := s.Read(0, limit, nil)
		var reads atomic.Int64
		var over atomic.Bool
		var readers sync.WaitGroup
		for range 3 {
			readers.Go(func() {
				for !over.Load() {
					assert.Equal(t, want, s.Read(0, limit, nil))
					reads.Add(1)
				}
			})
		}
		for reads.Load() < 3 {
			runtime.Gosched()
		}
		s.End()
		over.Store(true)
		readers.Wait()
		require.True(t, s.RetireLog())
	}
}
