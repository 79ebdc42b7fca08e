package capture_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/internal/capture"
)

// slow is a pattern that may match any line, and needs long to see that it does
// not.
const slow = `^([a-z]+ ?)+[0-9]$`

var hay = []byte(strings.Repeat(strings.Repeat("hay stack ", 7)+"\n", 900)) // 64 KB

// A reader of the window does not wait for a slow search, and a reader of its answer
// does.
func TestReadDuringASlowSearch(t *testing.T) {
	during := false
	for tries := 0; tries < 100 && !during; tries++ { // on a busy machine this goroutine may sleep
		s := newStream(capture.Options{Head: 100, Tail: 100, Raw: true})
		m := matcher(t, slow)
		require.NoError(t, s.Watch(t.Context(), m, 0))
		added := make(chan struct{})
		go func() {
			defer close(added)
			s.Add([]byte(strings.Repeat(string(hay), 4) + "needle 7"))
		}()
		for s.Total() == 0 {
			runtime.Gosched()
		}
		s.Read(0, noLimit, nil)
		during = !matched(m)
		page := s.Read(0, noLimit, m)
		require.True(t, page.Matched)
		require.Equal(t, "needle 7", page.Found.Line)
		<-added
		s.End()
	}
	require.True(t, during)
}

// Callers come and go while a process prints. The answer to each agrees with the
// text that it gets.
func TestSearchesDuringOutput(t *testing.T) {
	const lines = 30_000
	line := func(i int) string { return fmt.Sprintf("line %06d of some length\n", i) }
	size := int64(len(line(0)))
	s := newStream(capture.Options{Head: 4 << 20, Raw: true})
	over := make(chan struct{})
	var callers sync.WaitGroup
	for n := range 4 {
		callers.Go(func() {
			r := rand.New(rand.NewPCG(5, uint64(n)))
			for {
				began := s.Total()
				i := began/size + 1 + int64(r.IntN(1000))
				pattern := fmt.Sprintf([]string{"^line %06d of", "l[a-z]+ ?%06d ", `^\w+ 0*%d .*h$`}[r.IntN(3)], i)
				m, err := capture.NewMatcher(pattern)
				if !assert.NoError(t, err) || !assert.NoError(t, s.Watch(t.Context(), m, began)) {
					return
				}
				if r.IntN(2) == 0 {
					select {
					case <-m.Matched():
					case <-over:
					}
				}
				page := s.Read(began, noLimit, m)
				want := page.Next >= (i+1)*size
				if want {
					assert.True(t, page.Matched, "%s in %d to %d", pattern, began, page.Next)
				}
				if page.Matched {
					assert.Equal(t, i*size, page.Found.Offset)
					assert.Greater(t, page.Next, i*size)
				}
				assert.Zero(t, page.Unsearched)
				select {
				case <-over:
					return
				default:
				}
			}
		})
	}
	var all []byte
	for i := range lines {
		all = append(all, line(i)...)
	}
	r := rand.New(rand.NewPCG(6, 7))
	for len(all) > 0 {
		n := min(1+r.IntN([]int{100, 5000, 60_000}[r.IntN(3)]), len(all))
		s.Add(all[:n])
		all = all[n:]
	}
	s.End()
	close(over)
	callers.Wait()
}
