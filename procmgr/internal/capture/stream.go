package capture

import (
	"context"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/headtail/plaintext"
)

// Options are those of all streams of one owner.
type Options struct {
	// Head and Tail are the bytes that are kept from the beginning and from the
	// end of a stream.
	Head, Tail int
	// Raw keeps the bytes as they come.
	Raw bool
	// Memory counts what all streams keep.
	Memory *atomic.Int64
	// Grown is called, with no lock of the stream held that a reader needs,
	// after Memory has grown.
	Grown func()
	// Written is called with the bytes that were added, as they are kept; nil
	// for nothing.
	Written func(bytes int)
}

// A Stream is the output of one process: what is kept of it, and who waits for
// something to appear in it. Its bytes are plain text, unless it is raw: what
// offsets count is what is left of escape sequences and redrawn lines.
type Stream struct {
	opts *Options
	buf  *headtail.Buffer
	log  *log // nil for none; set before the first write

	// logging is held by the writer until what is in buf is in the log too.
	logging sync.Mutex
	// counts are the bytes that the record takes beside its output.
	counts int64

	// mu guards matchers, and that what a matcher was begun with joins on to
	// what it is fed.
	mu       sync.Mutex
	matchers []*Matcher
	clean    *plaintext.Writer // nil for a raw stream; guarded by mu
	sink     sink              // what clean writes to; the writer's alone
	held     int64             // what this one has added to Options.Memory; guarded by mu

	// last are the newest bytes, guarded by mu: a snapshot leaves out a rune
	// that has not ended, and a matcher must see its beginning.
	last []byte
}

// NewStream returns a stream that counts for some bytes from the beginning. The
// options stay the caller's, and do not change.
func NewStream(opts *Options, counts int64) *Stream {
	opts.Memory.Add(counts)
	s := &Stream{opts: opts, buf: headtail.New(opts.Head, opts.Tail), counts: counts, held: counts}
	if !opts.Raw {
		s.clean = plaintext.NewWriter(&s.sink)
	}
	return s
}

// LogTo has the stream written to a file as well. It is called once at the most,
// before the first Add.
func (s *Stream) LogTo(logs *Logs) { s.log = logs.open() }

// Log returns where the stream's log is, "" where there is none, and why it is
// not whole.
func (s *Stream) Log() (path, failed string) {
	if s.log == nil {
		return "", ""
	}
	return s.log.tell()
}

// RetireLog removes the stream's log with its record, unless it is kept, and
// reports whether there was anything to remove.
func (s *Stream) RetireLog() bool { return s.log != nil && s.log.retire() }

// keeps is how many bytes there are of what is kept, and of what the record
// takes.
func (s *Stream) keeps() int64 {
	return s.counts + min(s.buf.Total(), int64(s.opts.Head)+int64(s.opts.Tail))
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

// Add takes the next bytes of output. It is called by one goroutine at a time.
func (s *Stream) Add(p []byte) { s.add(p, false) }

// End takes what was held back, and marks the end of the stream. It is called
// once, and nothing is added after it.
func (s *Stream) End() {
	s.add(nil, true)
	if s.log != nil {
		s.log.end()
	}
}

func (s *Stream) add(p []byte, last bool) {
	room := textBuffers.Get().(*[]byte)
	if s.log != nil {
		s.logging.Lock()
	}
	text, grown := s.take(p, last, *room)
	if s.log != nil {
		s.log.write(text) // without mu: a slow disk holds up nobody who reads the window
		s.logging.Unlock()
	}
	if s.opts.Written != nil && len(text) > 0 {
		s.opts.Written(len(text))
	}
	if s.sink.buf != nil {
		*room = s.sink.buf[:0]
	}
	s.sink = sink{}
	textBuffers.Put(room)
	if grown {
		s.opts.Grown()
	}
}

// take returns what the next bytes add to the stream, and whether what is kept
// has grown.
func (s *Stream) take(p []byte, last bool, room []byte) (text []byte, grown bool) {
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
	more := s.keeps() - s.held
	if more > 0 {
		s.held += more
		s.opts.Memory.Add(more)
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
			m.look(s.Visible, pending)
		}
	}
	return p, more > 0
}

// pending returns what is held back of the newest line. The caller holds mu.
func (s *Stream) pending() []byte {
	if s.clean == nil {
		return nil
	}
	return s.clean.Pending()
}

// Drop gives the memory back: nothing is added after it.
func (s *Stream) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opts.Memory.Add(-s.held)
	s.held = 0
}

// Reclaim undoes Drop.
func (s *Stream) Reclaim() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = s.keeps()
	s.opts.Memory.Add(s.held)
}

// Total is how many bytes the stream has had.
func (s *Stream) Total() int64 { return s.buf.Total() }

// Visible is where a snapshot ends: before a rune that has not ended.
func (s *Stream) Visible() int64 { return s.buf.Snapshot(s.buf.Total()).Total }

// Watch lets a matcher see the stream from an offset on, until it is read with.
// What the window has dropped comes from the log, as far as there is one. To look
// through that may take long; an error is ctx's, and then nothing is watched.
func (s *Stream) Watch(ctx context.Context, m *Matcher, from int64) error {
	at := min(max(from, 0), s.buf.Total())
	m.at, m.start = at, at
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
func (s *Stream) join(m *Matcher, from, at int64, ended bool) bool {
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
	m.look(s.Visible, m.shown)
	if !m.done {
		s.matchers = append(s.matchers, m)
	}
	return true
}

// awaitLog returns once the log has what the window has dropped until now.
func (s *Stream) awaitLog() {
	s.logging.Lock()
	defer s.logging.Unlock()
}

// logChunk is how much of a log is read at a time, in bytes. A slow pattern takes
// a good part of a second for it, and a caller that is gone is noticed after it.
const logChunk = 64 << 10
