package capture

import (
	"math"
	"slices"
	"unicode/utf8"

	"github.com/toolproc/toolproc/headtail"
)

// A Page is what a stream has from an offset on, as far as it fits a limit.
type Page struct {
	// Text is valid UTF-8. It goes on behind Next with what is held back of the
	// newest line.
	Text string
	// Truncated tells what Text leaves out; nil where that is nothing.
	Truncated *headtail.Truncation
	// Next is the offset of what comes after.
	Next int64
	// Matched reports whether the matcher has matched, and Found is the line.
	Matched bool
	Found   Found
	// Unsearched is how many bytes the pattern was not matched against.
	Unsearched int64
}

// Read returns a page, and takes a matcher back that the stream was watched
// with; nil for none.
func (s *Stream) Read(from int64, limit headtail.Limits, m *Matcher) Page {
	snap, pending, matched := s.snapshot(from, m)
	next := snap.Total
	if snap.Gap > 0 && s.log != nil {
		s.awaitLog()
		s.log.fill(&snap, limit.Bytes)
	}
	if len(pending) > 0 {
		// A live line is there to be seen, and has no offset yet.
		snap.Tail = append(snap.Tail, pending...)
		snap.Total += int64(len(pending))
	}
	text, truncated := snap.Text(limit)
	page := Page{Text: text, Truncated: truncated, Next: next, Matched: matched}
	if m != nil {
		page.Found, page.Unsearched = m.found, m.skipped
	}
	return page
}

// snapshot takes one, and at the same moment a matcher back: what it has
// matched is in the snapshot. pending is what is held back: it comes after the
// snapshot and may yet change.
func (s *Stream) snapshot(from int64, m *Matcher) (snap headtail.Snapshot, pending []byte, matched bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pending = s.pending()
	if m != nil {
		if i := slices.Index(s.matchers, m); i >= 0 {
			s.matchers = slices.Delete(s.matchers, i, i+1)
		}
		m.look(s.Visible, pending)
		matched = m.done
	}
	return s.buf.Snapshot(from), pending, matched
}

// fill takes into a snapshot what a text of so many bytes can show of its gap: as
// much from the beginning and from the end of it.
func (g *log) fill(s *headtail.Snapshot, limit int) {
	want := int64(limit)
	switch {
	case limit == 0:
		want = headtail.DefaultTextLimit
	case limit < 0:
		want = math.MaxInt64
	}
	from := s.From + int64(len(s.Head))
	if n := min(s.Gap, want-int64(len(s.Head))); n > 0 {
		p := g.read(from, n)
		if int64(len(p)) < s.Gap {
			p = p[:len(p)-unfinished(p)] // no rune is torn at a gap
		}
		s.Head = append(s.Head, p...)
		s.Gap -= int64(len(p))
	}
	to := s.Total - int64(len(s.Tail))
	if n := min(s.Gap, want-int64(len(s.Tail))); n > 0 {
		p := g.read(to-n, n)
		if int64(len(p)) < n {
			return // the log does not reach up to the tail
		}
		for i := 0; i < utf8.UTFMax-1 && len(p) > 0 && n < s.Gap && !utf8.RuneStart(p[0]); i++ {
			p = p[1:]
		}
		s.Tail = append(p, s.Tail...)
		s.Gap -= int64(len(p))
	}
	if s.Gap == 0 {
		s.Head, s.Tail = append(s.Head, s.Tail...), nil
	}
}

// unfinished returns how many bytes at the end begin a rune that does not end.
func unfinished(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if c := p[len(p)-n]; utf8.RuneStart(c) {
			if !utf8.FullRune(p[len(p)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}
