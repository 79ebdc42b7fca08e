package capture

import (
	"context"
	"math"
	"slices"
	"sync"
)

const (
	// atOnce is how many bytes of lines a pattern is matched against by the
	// goroutine that reads the output. More would hold up the process. To look
	// for the lines that may match takes far less time.
	atOnce = 4 << 10
	// mostBehind bounds how many bytes a search may be behind the output. When
	// there are as many, the output waits for the search.
	mostBehind = 256 << 10
)

// A search has the matchers of a stream. They search a text as it arrives. If a
// matcher needs long for it, the rest of the text is put aside, and a goroutine
// searches it while the output goes on.
//
// The stream's mu guards the fields.
type search struct {
	matchers []*Matcher
	aside    []passage  // the texts that were put aside, the oldest first
	behind   int        // the bytes of all texts that are not searched yet
	busy     bool       // a goroutine searches
	moved    *sync.Cond // it has searched a passage, or has ended; its lock is mu
	told     func()     // called without the lock when it has searched a passage; nil for nothing to call
}

// A passage is a text that some matchers have still to search. pending is the
// text that was held back behind it.
type passage struct {
	text    *[]byte // of passageTexts
	pending []byte
	rests   []rest
}

// A rest is the part of a passage, from an offset on, that a matcher has still
// to search.
type rest struct {
	m    *Matcher
	from int
}

// passageTexts lends the texts of passages.
var passageTexts = sync.Pool{New: func() any { return new([]byte) }}

// join adds a matcher.
func (s *search) join(m *Matcher) { s.matchers = append(s.matchers, m) }

// leave takes a matcher back. When leave returns, the matcher has searched all
// text that the stream had at the call. The lock is not held all the time.
func (s *search) leave(m *Matcher) {
	if i := slices.Index(s.matchers, m); i >= 0 {
		s.matchers = slices.Delete(s.matchers, i, i+1)
	}
	for m.ahead > 0 && !m.over() {
		s.moved.Wait()
	}
}

// awaitRoom returns when there is room for another text. The lock is not held
// all the time.
func (s *search) awaitRoom() {
	for s.behind >= mostBehind {
		s.moved.Wait()
	}
}

// awaitEnd returns when nothing is left to search. The lock is not held all the
// time.
func (s *search) awaitEnd() {
	for s.busy {
		s.moved.Wait()
	}
}

// add lets the matchers search the next text, now or later. pending is the text
// that is held back behind it. visible returns the offset at which a caller
// sees the stream end.
func (s *search) add(text, pending []byte, visible func() int64) {
	var rests []rest
	for _, m := range s.matchers {
		from := 0
		if m.ahead == 0 {
			from = m.feed(text, atOnce)
			if from == len(text) {
				m.look(visible, pending)
				continue
			}
		} else if m.over() {
			continue
		}
		m.ahead++
		rests = append(rests, rest{m, from})
	}
	if len(rests) == 0 {
		return
	}
	kept := passageTexts.Get().(*[]byte)
	*kept = append((*kept)[:0], text...)
	s.aside = append(s.aside, passage{kept, slices.Clone(pending), rests})
	s.behind += len(text)
	if !s.busy {
		s.busy = true
		go s.catchUp()
	}
}

// catchUp searches the texts that were put aside. The end of the stream waits
// for it.
func (s *search) catchUp() {
	mu := s.moved.L
	mu.Lock()
	defer mu.Unlock()
	for len(s.aside) > 0 {
		p := s.aside[0]
		s.aside = slices.Delete(s.aside, 0, 1)
		mu.Unlock()
		for _, r := range p.rests {
			r.m.feed((*p.text)[r.from:], math.MaxInt)
			r.m.look(nil, p.pending)
		}
		if s.told != nil {
			s.told()
		}
		mu.Lock()
		for _, r := range p.rests {
			r.m.ahead--
		}
		s.behind -= len(*p.text)
		passageTexts.Put(p.text)
		s.moved.Broadcast()
	}
	s.busy = false
	s.moved.Broadcast()
}

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
			n += m.feed(p[n:], mostTried)
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
		m.feed(s.last[max(0, len(s.last)-int(missing)):], math.MaxInt)
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
