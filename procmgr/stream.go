package procmgr

import (
	"slices"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/toolproc/toolproc/headtail"
)

// A stream is the output of one process: what is kept of it, and who waits for
// something to appear in it.
type stream struct {
	buf  *headtail.Buffer
	keep int64 // bytes that buf keeps at most
	// counts are the bytes that the record takes beside its output.
	counts int64

	// mu guards matchers, and that what a matcher was begun with joins on to
	// what it is fed.
	mu       sync.Mutex
	matchers []*matcher

	// memory counts what all streams of a Local keep.
	memory *atomic.Int64
	grown  func() // called without mu after memory has grown
	held   int64  // what this one has added to memory; guarded by mu

	// last are the newest bytes, guarded by mu: a snapshot leaves out a rune
	// that has not ended, and a matcher must see its beginning.
	last []byte
}

// newStream returns a stream that counts for some bytes from the beginning.
func newStream(head, tail int, counts int64, memory *atomic.Int64, grown func()) *stream {
	memory.Add(counts)
	return &stream{
		buf:    headtail.New(head, tail),
		keep:   int64(head) + int64(tail),
		counts: counts,
		memory: memory,
		grown:  grown,
		held:   counts,
	}
}

// write takes the next bytes of output.
func (s *stream) write(p []byte) {
	if s.take(p) {
		s.grown()
	}
}

// take reports whether what is kept has grown.
func (s *stream) take(p []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.buf.Write(p) // never fails
	more := s.counts + min(s.buf.Total(), s.keep) - s.held
	if more > 0 {
		s.held += more
		s.memory.Add(more)
	}
	if len(p) < utf8.UTFMax {
		s.last = append(s.last, p...)
		s.last = append(s.last[:0], s.last[max(0, len(s.last)-utf8.UTFMax):]...)
	} else {
		s.last = append(s.last[:0], p[len(p)-utf8.UTFMax:]...)
	}
	for _, m := range s.matchers {
		m.feed(p)
		m.look(s.visible)
	}
	return more > 0
}

// end marks the end of the stream.
func (s *stream) end() { _ = s.buf.Close() }

// drop gives the memory back: nothing is written after it.
func (s *stream) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.memory.Add(-s.held)
	s.held = 0
}

// reclaim undoes drop.
func (s *stream) reclaim() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = s.counts + min(s.buf.Total(), s.keep)
	s.memory.Add(s.held)
}

// visible is where a snapshot ends: before a rune that has not ended.
func (s *stream) visible() int64 { return s.buf.Snapshot(s.buf.Total()).Total }

// watch lets a matcher see the stream from an offset on, until it is read with.
func (s *stream) watch(m *matcher, from int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.buf.Snapshot(from)
	m.begin(seen)
	if missing := s.buf.Total() - max(from, seen.Total); missing > 0 {
		m.feed(s.last[max(0, len(s.last)-int(missing)):])
	}
	m.from = from
	m.look(s.visible)
	if !m.done {
		s.matchers = append(s.matchers, m)
	}
}

// read takes a snapshot, and at the same moment a matcher back: what it has
// matched is in the snapshot.
func (s *stream) read(from int64, m *matcher) (headtail.Snapshot, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	matched := false
	if m != nil {
		if i := slices.Index(s.matchers, m); i >= 0 {
			s.matchers = slices.Delete(s.matchers, i, i+1)
		}
		m.look(s.visible)
		matched = m.done
	}
	return s.buf.Snapshot(from), matched
}
