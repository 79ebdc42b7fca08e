package capture_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
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

// A search that is behind the output comes to its end before its answer is read.
func TestReadAwaitsTheSearch(t *testing.T) {
	for _, pattern := range []string{slow, "needle [0-9]$"} {
		for _, ended := range []bool{false, true} {
			t.Run(fmt.Sprint(pattern, ", ended: ", ended), func(t *testing.T) {
				s := newStream(capture.Options{Head: 100, Tail: 100})
				m, never := matcher(t, pattern), matcher(t, "never "+slow[1:])
				require.NoError(t, s.Watch(t.Context(), m, 0))
				require.NoError(t, s.Watch(t.Context(), never, 0))
				s.Add(hay)
				s.Add([]byte("needle 7")) // short, and behind what was put aside
				if ended {
					s.End()
				}
				page := s.Read(0, noLimit, m)
				require.True(t, page.Matched)
				require.Equal(t, capture.Found{Line: "needle 7", Offset: int64(len(hay))}, page.Found)
				require.Zero(t, page.Unsearched)
				page = s.Read(0, noLimit, never)
				require.False(t, page.Matched)
				require.Zero(t, page.Unsearched)
			})
		}
	}
}

// The output waits for a search that is too far behind: a match is seen before
// some 300 KB more have come.
func TestSearchIsNotFarBehind(t *testing.T) {
	s := newStream(capture.Options{Head: 100, Tail: 100})
	m, never := matcher(t, slow), matcher(t, "never "+slow[1:])
	require.NoError(t, s.Watch(t.Context(), m, 0))
	require.NoError(t, s.Watch(t.Context(), never, 0))
	s.Add([]byte("needle 7\n" + string(hay)))
	for range 6 {
		s.Add(hay)
	}
	require.True(t, matched(m))
	require.Zero(t, s.Read(0, noLimit, m).Found.Offset)
	require.False(t, s.Read(0, noLimit, never).Matched)
	s.End()
}

// The text that is held back is searched in its turn.
func TestSearchOfHeldBackText(t *testing.T) {
	s := newStream(capture.Options{Head: 1 << 20})
	m := matcher(t, "^99 % [a-z]+$")
	require.NoError(t, s.Watch(t.Context(), m, 0))
	s.Add(append(bytes.Clone(hay), "1 %\r99 % done"...))
	s.Add([]byte("\r100 % ready"))
	page := s.Read(0, noLimit, m)
	require.True(t, page.Matched)
	require.Equal(t, "99 % done", page.Found.Line)
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

// A match is told once, and before the stream has ended, whether the writer
// finds it or the search that is behind.
func TestNotifyOfMuchText(t *testing.T) {
	for _, pattern := range []string{slow, "needle"} {
		s := newStream(capture.Options{Head: 100, Tail: 100})
		m, err := capture.NewNotice(pattern)
		require.NoError(t, err)
		var told []string
		s.Notify(m, func(line string) { told = append(told, line) })
		for range 3 {
			s.Add(hay)
		}
		s.Add([]byte("needle 7\nneedle 8\n"))
		s.Add(hay)
		s.End()
		require.Equal(t, []string{"needle 7"}, told)
	}
}
