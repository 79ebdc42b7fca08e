package capture

import (
	"context"
	"slices"
	"sync"
)

// searching returns the matchers that the writer lets search a text now, and the text
// that is held back behind it. The caller holds mu.
func (s *Stream) searching() (matchers []*Matcher, pending []byte) {
	for _, m := range s.matchers {
		if !m.over() {
			m.busy = true
			matchers = append(matchers, m)
		}
	}
	if len(matchers) > 0 {
		pending = s.pending()
	}
	return matchers, pending
}

// search lets the matchers search a text. The process that prints it waits meanwhile,
// once the pipe is full.
func (s *Stream) search(matchers []*Matcher, text, pending []byte) {
	if len(matchers) == 0 {
		return
	}
	for _, m := range matchers {
		m.feed(text)
		m.look(s.Visible, pending)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range matchers {
		m.busy = false
	}
	s.searched.Broadcast()
}

// leave takes a matcher back. When leave returns, the matcher has searched all
// text that the stream had at the call. The caller holds mu, but not all the time.
func (s *Stream) leave(m *Matcher) {
	if i := slices.Index(s.matchers, m); i >= 0 {
		s.matchers = slices.Delete(s.matchers, i, i+1)
	}
	for m.busy && !m.over() {
		s.searched.Wait()
	}
}

// Notify looks for the first match of m, and calls f with its line before End
// returns. The stream then holds no lock that a reader needs. Notify is called
// at most once, and before the first Add.
func (s *Stream) Notify(m *Matcher, f func(line string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notice, s.notify = m, f
	s.matchers = append(s.matchers, m)
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
	s.leave(m)
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
		m.feed(p)
		if err := ctx.Err(); err != nil && !m.done {
			return err
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
		m.feed(s.last[max(0, len(s.last)-int(missing)):])
	}
	m.from = from
	m.shown, m.shownAt = s.pending(), m.at
	m.peek(m.shown)
	if m.after != nil && m.re == nil {
		m.shown = m.after.Live
	}
	m.look(s.Visible, s.pending())
	if !m.done {
		s.matchers = append(s.matchers, m)
	}
	return true
}

// logChunks lends the room into which a log is read. A slow pattern takes a good part
// of a second for that many bytes, and then Watch looks whether the caller has gone.
var logChunks = sync.Pool{New: func() any {
	room := make([]byte, 64<<10)
	return &room
}}
