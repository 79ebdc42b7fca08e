// Package capture keeps the output of a process: its beginning and its end in
// memory, and all of it in a file, as plain text or raw. It matches new output
// against patterns, and returns output in pages. It knows nothing of processes.
//
// Output passes a chain of writers:
//
//	pipe → plain text → redaction → window, watchers, log
package capture

import (
	"bytes"
	"io"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/headtail/plaintext"
	"github.com/toolproc/toolproc/procmgr/internal/redact"
)

// Options are the options of all streams of one owner.
type Options struct {
	// Head and Tail are how many bytes of the beginning and of the end of a
	// stream are kept in memory.
	Head, Tail int
	// Raw keeps the bytes as they come.
	Raw bool
	// Memory counts the bytes that all streams keep.
	Memory *atomic.Int64
	// Grown is called after Memory has grown. The stream then holds no lock
	// that a reader needs.
	Grown func()
	// Written is called with the number of bytes that were added, in the form
	// in which they are kept. It may be nil.
	Written func(bytes int)
}

// A Stream is the output of one process: the part of it that is kept, and the
// matchers that look for text in it. Unless the stream is raw, its bytes are
// plain text: offsets count the text without escape sequences and redrawn
// lines.
type Stream struct {
	opts *Options
	buf  *headtail.Buffer
	log  *logFile // nil for none; set before the first write

	// writing is the lock at the head of the chain. It is held until the matchers and
	// the log have all bytes that buf has.
	writing sync.Mutex
	// logging is held while the log lacks bytes that buf has.
	logging sync.Mutex
	// counts is how many bytes the record takes beside its output.
	counts int64

	// mu guards the fields below. Watch holds it from its last look at the text that
	// is there until the matcher is among the others: so the matcher misses no byte,
	// and gets none twice. It isn't held while text is searched or written to the log,
	// so no reader waits for a slow pattern, and none of the window for a slow disk.
	mu       sync.Mutex
	matchers []*Matcher
	searched *sync.Cond        // they have searched a text; its lock is mu
	head     io.Writer         // of the chain
	clean    *plaintext.Writer // nil for a raw stream
	filter   *redact.Filter    // nil if nothing is masked
	added    []byte            // by this write; from textBuffers
	idle     bool              // letGo will be called
	ended    bool              // nothing is added any more
	held     int64             // the bytes that this stream has added to Options.Memory

	notice *Matcher          // of Notify, until it has matched
	notify func(line string) // called when notice has matched

	// last are the newest bytes. A snapshot leaves out a rune that has not ended, but a
	// matcher must see its beginning.
	last []byte
}

// NewStream returns a stream. counts is the number of bytes for which it counts
// from the beginning. The options stay the caller's, and must not change.
func NewStream(opts *Options, counts int64) *Stream {
	opts.Memory.Add(counts)
	s := &Stream{opts: opts, buf: headtail.New(opts.Head, opts.Tail), counts: counts, held: counts}
	s.searched = sync.NewCond(&s.mu)
	s.head = masker{s}
	if !opts.Raw {
		s.clean = plaintext.NewWriter(s.head)
		s.head = newDecoder(s.clean)
	}
	return s
}

// LogTo makes the stream write to a file as well. It is called at most once,
// and before the first Add.
func (s *Stream) LogTo(logs *Logs) { s.log = logs.open() }

// Redact masks the values of a set in the stream, before anybody gets its text: a
// possible beginning of a value is held back at the end of what was added, fewer
// than redact.Soon bytes for letGoAfter. Redact is called at most once, and before
// the first Add.
func (s *Stream) Redact(set *redact.Set) { s.filter = set.NewFilter() }

// Redacted returns the names of the values that were masked so far.
func (s *Stream) Redacted() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.filter.Names()
}

// Add takes the next bytes of output. One goroutine at a time calls it.
func (s *Stream) Add(p []byte) {
	s.pass(func() { _, _ = s.head.Write(p) }) // no stage fails
}

// End takes the text that was held back, and marks the end of the stream. It is
// called once, and nothing is added after it.
func (s *Stream) End() {
	s.pass(func() {
		if c, ok := s.head.(io.Closer); ok {
			_ = c.Close()
		}
		if s.clean != nil {
			_ = s.clean.Flush()
			s.clean = nil
		}
		s.keep(s.filter.End(s.added))
		s.ended = true
		_ = s.buf.Close()
	})
	if s.log != nil {
		s.log.end()
	}
}

// pass lets write put bytes into the chain, and then calls the owner. It holds no lock
// meanwhile.
func (s *Stream) pass(write func()) {
	added, grown := s.locked(write)
	if s.opts.Written != nil && added > 0 {
		s.opts.Written(added)
	}
	if grown {
		s.opts.Grown()
	}
	if s.notify != nil {
		s.tell()
	}
}

// locked lets write put bytes into the chain. It lets the matchers search what has come
// out of it, and writes that to the log. It returns how much that is, and whether more
// bytes are kept than before.
func (s *Stream) locked(write func()) (added int, grown bool) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	if s.ended { // letGo comes late
		s.mu.Unlock()
		return 0, false
	}
	room := textBuffers.Get().(*[]byte)
	defer textBuffers.Put(room)
	s.added = (*room)[:0]
	write()
	text := s.added
	*room, s.added = text, nil
	if s.filter.Held() && !s.idle && !s.ended {
		s.idle = true
		time.AfterFunc(letGoAfter, s.letGo)
	}
	more := s.keeps() - s.held
	if more > 0 {
		s.held += more
		s.opts.Memory.Add(more)
	}
	matchers, pending := s.searching()
	s.logging.Lock()
	s.mu.Unlock()
	if s.log != nil {
		s.log.write(text)
	}
	s.logging.Unlock()
	s.search(matchers, text, pending)
	return len(text), more > 0
}

// textBuffers lends the room of what comes out of the chain during a write, so a process
// that prints nothing holds none.
var textBuffers = sync.Pool{New: func() any { return new([]byte) }}

// A masker is the stage that masks the values of secrets.
type masker struct{ s *Stream }

func (m masker) Write(p []byte) (int, error) {
	m.s.keep(m.s.filter.Append(m.s.added, p))
	return len(p), nil
}

// letGoAfter is how long the beginning of a word is held back because it may be the
// beginning of a secret value. It is short, so that a prompt is still seen as a prompt.
const letGoAfter = 20 * time.Millisecond

// letGo takes what was held back for letGoAfter.
func (s *Stream) letGo() {
	s.pass(func() {
		s.idle = false
		s.keep(s.filter.LetGo(s.added))
	})
}

// keep is the end of the chain: it adds to the window what was appended to added. The
// caller holds mu.
func (s *Stream) keep(added []byte) {
	p := added[len(s.added):]
	s.added = added
	_, _ = s.buf.Write(p) // never fails
	s.last = append(s.last, p[max(0, len(p)-utf8.UTFMax):]...)
	s.last = append(s.last[:0], s.last[max(0, len(s.last)-utf8.UTFMax):]...)
}

// pending returns the part of the newest line that is held back, because it may be
// drawn anew. The caller holds mu.
func (s *Stream) pending() []byte {
	if s.clean == nil {
		return nil
	}
	return s.filter.Peek(s.clean.Pending())
}

// Log returns the path of the stream's log, or "" if there is none, and why the
// log is not whole.
func (s *Stream) Log() (path, failed string) {
	if s.log == nil {
		return "", ""
	}
	return s.log.tell()
}

// LookForLog looks whether the log's file is still there, for the next call of
// Log. It may take as long as the disk does: the caller holds no lock.
func (s *Stream) LookForLog() {
	if s.log != nil {
		s.log.look()
	}
}

// RetireLog removes the stream's log together with its record, unless logs are
// kept. It reports whether there was a log to remove.
func (s *Stream) RetireLog() bool { return s.log != nil && s.log.retire() }

// awaitLog returns when the log has all text that the window has dropped until
// now.
func (s *Stream) awaitLog() {
	s.logging.Lock()
	defer s.logging.Unlock()
}

// keeps returns how many bytes of output are kept, plus the bytes that the
// record takes.
func (s *Stream) keeps() int64 {
	return s.counts + min(s.buf.Total(), int64(s.opts.Head)+int64(s.opts.Tail))
}

// Drop takes the stream out of Memory. Nothing is added after it.
func (s *Stream) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opts.Memory.Add(-s.held)
	s.held = 0
}

// Total returns how many bytes the stream has had.
func (s *Stream) Total() int64 { return s.buf.Total() }

// Visible returns the offset at which a snapshot ends: before a rune that has
// not ended.
func (s *Stream) Visible() int64 { return s.buf.Snapshot(s.buf.Total()).Total }

// Mark returns the end of the stream at this moment.
func (s *Stream) Mark() Mark {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Mark{Offset: s.Visible(), Total: s.buf.Total(), Live: bytes.Clone(s.pending())}
}
