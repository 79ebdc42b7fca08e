package procmgr

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/headtail/plaintext"
)

// A stream is the output of one process: what is kept of it, and who waits for
// something to appear in it. Its bytes are plain text, unless it is raw: what
// offsets count is what is left of escape sequences and redrawn lines.
type stream struct {
	buf  *headtail.Buffer
	keep int64 // bytes that buf keeps at most
	log  *log  // nil for none; set before the first write

	// logging is held by the writer until what is in buf is in the log too.
	logging sync.Mutex
	// metrics are told of what is written; set before the first write.
	metrics *Metrics
	// counts are the bytes that the record takes beside its output.
	counts int64

	// mu guards matchers, and that what a matcher was begun with joins on to
	// what it is fed.
	mu       sync.Mutex
	matchers []*matcher
	clean    *plaintext.Writer // nil for a raw stream; guarded by mu
	sink     sink              // what clean writes to; the writer's alone

	// memory counts what all streams of a Local keep.
	memory *atomic.Int64
	grown  func() // called without mu after memory has grown
	held   int64  // what this one has added to memory; guarded by mu

	// last are the newest bytes, guarded by mu: a snapshot leaves out a rune
	// that has not ended, and a matcher must see its beginning.
	last []byte
}

// newStream returns a stream that counts for some bytes from the beginning.
func newStream(head, tail int, raw bool, counts int64, memory *atomic.Int64, grown func()) *stream {
	memory.Add(counts)
	s := &stream{
		buf:    headtail.New(head, tail),
		keep:   int64(head) + int64(tail),
		counts: counts,
		memory: memory,
		grown:  grown,
		held:   counts,
	}
	if !raw {
		s.clean = plaintext.NewWriter(&s.sink)
	}
	return s
}

// A sink takes what a plaintext.Writer writes for one write to it: mostly that
// itself, which needs no copy.
type sink struct {
	given []byte // what was written to the Writer
	text  []byte // what it wrote
	buf   []byte // room for text that is something else; lent
}

func (s *sink) Write(p []byte) (int, error) {
	if len(s.text) == 0 && len(p) == len(s.given) && len(p) > 0 && &p[0] == &s.given[0] {
		s.text = p
		return len(p), nil
	}
	if len(s.buf) == 0 {
		s.buf = append(s.buf, s.text...)
	}
	s.buf = append(s.buf, p...)
	s.text = s.buf
	return len(p), nil
}

// textBuffers lend out the room of a sink: it is held during a write, and not
// by a process that prints nothing.
var textBuffers = sync.Pool{New: func() any { return new([]byte) }}

// write takes the next bytes of output. It is called by one goroutine at a time.
func (s *stream) write(p []byte) { s.add(p, false) }

// end takes what was held back, and marks the end of the stream. It is called
// once, and nothing is written after it.
func (s *stream) end() {
	s.add(nil, true)
	if s.log != nil {
		s.log.end()
	}
}

func (s *stream) add(p []byte, last bool) {
	room := textBuffers.Get().(*[]byte)
	if s.log != nil {
		s.logging.Lock()
	}
	text, grown := s.take(p, last, *room)
	if s.log != nil {
		s.log.write(text) // without mu: a slow disk holds up nobody who reads the window
		s.logging.Unlock()
	}
	s.metrics.output(len(text))
	if s.sink.buf != nil {
		*room = s.sink.buf[:0]
	}
	s.sink = sink{}
	textBuffers.Put(room)
	if grown {
		s.grown()
	}
}

// take returns what the next bytes add to the stream, and whether what is kept
// has grown.
func (s *stream) take(p []byte, last bool, room []byte) (text []byte, grown bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clean != nil {
		s.sink = sink{given: p, buf: room[:0]}
		if last {
			_ = s.clean.Flush() // a sink never fails
			s.clean = nil
		} else {
			_, _ = s.clean.Write(p)
		}
		p = s.sink.text
	}
	_, _ = s.buf.Write(p) // never fails
	if last {
		_ = s.buf.Close()
	}
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
	if len(s.matchers) > 0 {
		pending := s.pending()
		for _, m := range s.matchers {
			m.feed(p)
			m.look(s.visible, pending)
		}
	}
	return p, more > 0
}

// pending returns what is held back of the newest line. The caller holds mu.
func (s *stream) pending() []byte {
	if s.clean == nil {
		return nil
	}
	return s.clean.Pending()
}

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
// What the window has dropped comes from the log, as far as there is one. To look
// through that may take long; an error is ctx's, and then nothing is watched.
func (s *stream) watch(ctx context.Context, m *matcher, from int64) error {
	at := max(from, 0)
	for ended := s.log == nil || m.re == nil; !s.join(m, from, at, ended); {
		p := s.log.read(at, logChunk)
		if len(p) == 0 {
			s.awaitLog()
			p = s.log.read(at, logChunk)
		}
		m.feed(p)
		if err := ctx.Err(); err != nil && !m.done {
			return err
		}
		at += int64(len(p))
		ended = len(p) == 0 || m.done
	}
	return nil
}

// join goes on with what the window has from an offset on, and with what comes.
// It reports false where something of that has been dropped, unless the log that
// would have it has ended.
func (s *stream) join(m *matcher, from, at int64, ended bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.buf.Snapshot(at)
	if seen.Gap > 0 && !ended {
		return false
	}
	m.begin(seen)
	if missing := s.buf.Total() - max(at, seen.Total); missing > 0 {
		m.feed(s.last[max(0, len(s.last)-int(missing)):])
	}
	m.from = from
	m.shown = s.pending()
	m.peek(m.shown)
	m.look(s.visible, m.shown)
	if !m.done {
		s.matchers = append(s.matchers, m)
	}
	return true
}

// awaitLog returns once the log has what the window has dropped until now.
func (s *stream) awaitLog() {
	s.logging.Lock()
	defer s.logging.Unlock()
}

// logChunk is how much of a log is read at a time, in bytes. A slow pattern takes
// a good part of a second for it, and a caller that is gone is noticed after it.
const logChunk = 64 << 10

// read takes a snapshot, and at the same moment a matcher back: what it has
// matched is in the snapshot. pending is what is held back: it comes after the
// snapshot and may yet change.
func (s *stream) read(from int64, m *matcher) (snap headtail.Snapshot, pending []byte, matched bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pending = s.pending()
	if m != nil {
		if i := slices.Index(s.matchers, m); i >= 0 {
			s.matchers = slices.Delete(s.matchers, i, i+1)
		}
		m.look(s.visible, pending)
		matched = m.done
	}
	return s.buf.Snapshot(from), pending, matched
}
