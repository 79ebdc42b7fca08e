package capture

import (
	"bytes"
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/text/encoding"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/headtail/plaintext"
	"github.com/toolproc/toolproc/procmgr/internal/charset"
	"github.com/toolproc/toolproc/procmgr/internal/redact"
)

// Options are the options of all streams of one owner.
type Options struct {
	// Head and Tail are how many bytes of the beginning and of the end of a
	// stream are kept in memory.
	Head, Tail int
	// Raw keeps the bytes as they come.
	Raw bool
	// Decode decodes what is not UTF-8: UTF-16LE, and a line in another encoding as
	// Charset, nil for none. A raw stream decodes nothing.
	Decode  bool
	Charset encoding.Encoding
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

	// writing is held by the writer of a stream that has a filter, since letGo is
	// one too.
	writing sync.Mutex
	// logging is held by the writer until the log has all bytes that buf has.
	logging sync.Mutex
	// tally is told of each read and of each total; nil for nobody. It is set
	// before the first write.
	tally Tally
	// lost is the Lost of its State. It is set before the first read.
	lost int64
	// counts is how many bytes the record takes beside its output.
	counts int64

	// mu guards search. Watch holds it from its last look at the text that is
	// there until the matcher is in the search: so the matcher misses no byte,
	// and gets none twice.
	mu     sync.Mutex
	search search
	decode *charset.Decoder  // nil if output is UTF-8, or raw; guarded by mu
	clean  *plaintext.Writer // nil for a raw stream; guarded by mu
	filter *redact.Filter    // nil if nothing is masked; guarded by mu
	idle   bool              // letGo will be called; guarded by mu
	saved  bool              // nothing is added any more, by letGo neither; guarded by mu
	sink   sink              // clean writes to it; only the writer uses it
	notice *Matcher          // of Notify, until it has matched; guarded by mu
	notify func(line string) // called when notice has matched
	ended  bool              // guarded by mu
	held   int64             // the bytes that this stream has added to Options.Memory; guarded by mu

	// last are the newest bytes, guarded by mu. A snapshot leaves out a rune
	// that has not ended, but a matcher must see its beginning.
	last []byte
}

// NewStream returns a stream. counts is the number of bytes for which it counts
// from the beginning. The options stay the caller's, and must not change.
func NewStream(opts *Options, counts int64) *Stream {
	opts.Memory.Add(counts)
	s := &Stream{opts: opts, buf: headtail.New(opts.Head, opts.Tail), counts: counts, held: counts}
	s.search.moved = sync.NewCond(&s.mu)
	if !opts.Raw {
		s.clean = plaintext.NewWriter(&s.sink)
		if opts.Decode {
			s.decode = charset.New(opts.Charset)
		}
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

// letGoAfter is for how long the beginning of a word is held back, because it may be
// that of a value: so that a prompt stays a prompt.
const letGoAfter = 20 * time.Millisecond

// letGo takes what was held back for letGoAfter.
func (s *Stream) letGo() {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	s.idle = false
	over := s.ended || s.saved
	s.mu.Unlock()
	if !over {
		s.put(nil, idle)
	}
}

// A Tally counts the bytes of a stream in a place that outlives the program. One
// goroutine at a time calls it.
type Tally interface {
	// Reading is called before a read of at most so many bytes, and Took when it
	// has ended with so many.
	Reading(most int)
	Took(most, n int)
	// Counted is called with each total of the stream, before anybody can read
	// the text, and with how many bytes the stream holds back.
	Counted(total int64, held int)
}

// Count lets a Tally count the stream. It is called at most once, and before the
// first Add.
func (s *Stream) Count(t Tally) { s.tally = t }

// Reading is called before a read of at most so many bytes for the next Add.
func (s *Stream) Reading(most int) {
	if s.tally != nil {
		s.tally.Reading(most)
	}
}

// Took is called when that read has ended, with so many bytes.
func (s *Stream) Took(most, n int) {
	if s.tally != nil {
		s.tally.Took(most, n)
	}
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

// keeps returns how many bytes of output are kept, plus the bytes that the
// record takes.
func (s *Stream) keeps() int64 {
	return s.counts + min(s.buf.Total(), int64(s.opts.Head)+int64(s.opts.Tail))
}

// A sink collects the text that a plaintext.Writer makes of one write. Mostly
// that text is the written bytes themselves, and needs no copy.
type sink struct {
	given []byte // the bytes that were written to the Writer
	text  []byte // the text that the Writer made of them
	buf   []byte // room for a text that differs from given; lent
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

// textBuffers lends the room of a sink. A sink holds it during a write only, so
// a process that prints nothing holds none.
var textBuffers = sync.Pool{New: func() any { return new([]byte) }}

// Notify looks for the first match of m, and calls f with its line before End
// returns. The stream then holds no lock that a reader needs. Notify is called
// at most once, and before the first Add.
func (s *Stream) Notify(m *Matcher, f func(line string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notice, s.notify = m, f
	s.search.told = s.tell
	s.search.join(m)
}

// tell tells of the match of notice, if there is one that was not told.
func (s *Stream) tell() {
	s.mu.Lock()
	m := s.notice
	if m == nil || !m.over() {
		s.mu.Unlock()
		return
	}
	s.notice = nil
	s.search.leave(m)
	s.mu.Unlock()
	s.notify(m.found.Line)
}

// Add takes the next bytes of output. One goroutine at a time calls it.
func (s *Stream) Add(p []byte) { s.add(p, more) }

// End takes the text that was held back, and marks the end of the stream. It
// waits until all text is searched. It is called once, and nothing is added
// after it.
func (s *Stream) End() {
	s.add(nil, last)
	s.mu.Lock()
	s.search.awaitEnd()
	s.mu.Unlock()
	if s.log != nil {
		s.log.end()
	}
}

// A step is what happens to a stream.
type step int

const (
	more step = iota // the next bytes come
	last             // no more will come
	idle             // none came for letGoAfter
)

func (s *Stream) add(p []byte, next step) {
	if s.filter != nil {
		s.writing.Lock()
		defer s.writing.Unlock()
	}
	s.put(p, next)
}

func (s *Stream) put(p []byte, next step) {
	room := textBuffers.Get().(*[]byte)
	if s.log != nil {
		s.logging.Lock()
	}
	text, grown := s.take(p, next, *room)
	if s.log != nil {
		s.log.write(text) // without mu, so a reader of the window does not wait for a slow disk
		s.logging.Unlock()
	}
	if s.opts.Written != nil && len(text) > 0 {
		s.opts.Written(len(text))
	}
	s.filter.Release() // only a writer has its room
	if s.sink.buf != nil {
		*room = s.sink.buf[:0]
	}
	s.sink = sink{}
	textBuffers.Put(room)
	if grown {
		s.opts.Grown()
	}
	if s.notify != nil {
		s.tell()
	}
}

// take returns the text that the next bytes add to the stream. It reports
// whether more bytes are kept than before.
func (s *Stream) take(p []byte, next step, room []byte) (text []byte, grown bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.search.awaitRoom()
	if s.clean != nil && next != idle {
		if s.decode != nil {
			p = s.decoded(p, next)
		}
		s.sink = sink{given: p, buf: room[:0]}
		_, _ = s.clean.Write(p) // a sink never fails
		if next == last {
			_ = s.clean.Flush()
			s.clean = nil
		}
		p = s.sink.text
	}
	if s.filter != nil {
		p = s.mask(p, next)
	}
	if s.tally != nil {
		s.tally.Counted(s.buf.Total()+int64(len(p)), s.waiting())
	}
	_, _ = s.buf.Write(p) // never fails
	if next == last {
		s.ended = true
		_ = s.buf.Close()
	}
	added := s.keeps() - s.held
	if added > 0 {
		s.held += added
		s.opts.Memory.Add(added)
	}
	if len(p) < utf8.UTFMax {
		s.last = append(s.last, p...)
		s.last = append(s.last[:0], s.last[max(0, len(s.last)-utf8.UTFMax):]...)
	} else {
		s.last = append(s.last[:0], p[len(p)-utf8.UTFMax:]...)
	}
	if len(s.search.matchers) > 0 {
		s.search.add(p, s.pending(), s.Visible)
	}
	return p, added > 0
}

// decoded returns the text of the next bytes. The caller holds mu.
func (s *Stream) decoded(p []byte, next step) []byte {
	if next == last {
		return s.decode.End()
	}
	return s.decode.Write(p)
}

// mask returns what the filter makes of the next bytes. The caller holds mu.
func (s *Stream) mask(p []byte, next step) []byte {
	switch next {
	case idle:
		return s.filter.LetGo()
	case last:
		p = bytes.Clone(s.filter.Write(p))
		return append(p, s.filter.End()...)
	}
	p = s.filter.Write(p)
	if _, soon := s.filter.Held(); soon && !s.idle {
		s.idle = true
		time.AfterFunc(letGoAfter, s.letGo)
	}
	return p
}

// pending returns the part of the newest line that is held back, because it may be
// drawn anew. The caller holds mu.
func (s *Stream) pending() []byte {
	if s.clean == nil {
		return nil
	}
	return s.filter.Peek(s.clean.Pending())
}

// waiting returns how many bytes are held back, as they were printed. The caller holds
// mu.
func (s *Stream) waiting() int {
	n, _ := s.filter.Held()
	if s.clean != nil {
		n += len(s.clean.Pending())
	}
	if s.decode != nil {
		n += len(s.decode.Held)
	}
	return n
}

// Drop takes the stream out of Memory. Nothing is added after it.
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

// WatchAfter is Watch from a mark on. Text that the stream showed at the mark is no
// match, even if it was held back, as the prompt of a line editor is.
func (s *Stream) WatchAfter(ctx context.Context, m *Matcher, mark Mark) error {
	m.after = &mark
	return s.Watch(ctx, m, mark.Offset)
}

// Watch lets a matcher see the stream from an offset on, until Read takes it
// back. The text that the window has dropped comes from the log, as far as
// there is one. It may take long to look through that. If ctx ends first, Watch
// returns its error, and nothing is watched.
func (s *Stream) Watch(ctx context.Context, m *Matcher, from int64) error {
	at := min(max(from, 0), s.buf.Total())
	m.at, m.start = at, at
	var room *[]byte
	for ended := s.log == nil || m.re == nil; !s.join(m, from, at, ended); {
		if room == nil {
			room = logChunks.Get().(*[]byte)
			defer logChunks.Put(room)
		}
		p := (*room)[:s.log.readAt(*room, at)]
		if len(p) == 0 {
			s.awaitLog()
			p = (*room)[:s.log.readAt(*room, at)]
		}
		for n := 0; n < len(p) && !m.done; {
			n += m.feed(p[n:], nil, mostTried)
			if err := ctx.Err(); err != nil && !m.done {
				return err
			}
		}
		at += int64(len(p))
		ended = len(p) == 0 || m.done
	}
	return nil
}

// join feeds the text that the window has from an offset on, and then the text
// that comes. If the window has dropped some of that text, it reports false and
// feeds nothing, unless ended is set: then the log has no more, or is not
// needed.
func (s *Stream) join(m *Matcher, from, at int64, ended bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.buf.Snapshot(at)
	if seen.Gap > 0 && !ended {
		return false
	}
	m.begin(seen)
	if missing := s.buf.Total() - max(at, seen.Total); missing > 0 {
		m.feed(s.last[max(0, len(s.last)-int(missing)):], nil, math.MaxInt)
	}
	m.from = from
	m.shown, m.shownAt = s.pending(), m.at
	m.peek(m.shown)
	if m.after != nil && m.re == nil {
		m.shown = m.after.Live
	}
	m.look(s.Visible, s.pending())
	if !m.done {
		s.search.join(m)
	}
	return true
}

// awaitLog returns when the log has all text that the window has dropped until
// now.
func (s *Stream) awaitLog() {
	s.logging.Lock()
	defer s.logging.Unlock()
}

// logChunks lends the room into which a log is read: as many bytes at a time as
// stay near the processor until they are searched.
var logChunks = sync.Pool{New: func() any {
	room := make([]byte, 256<<10)
	return &room
}}

// mostTried is how many bytes a pattern is matched against before Watch looks
// whether the caller has gone. A slow pattern takes a good part of a second for
// that many.
const mostTried = 64 << 10
