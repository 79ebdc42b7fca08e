package capture

import (
	"hash/maphash"
	"unicode/utf8"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr/internal/linediff"
)

// A Page is the content of a stream from an offset on, as far as it fits a
// limit.
type Page struct {
	// Text is valid UTF-8. It goes on beyond Next with the part of the newest
	// line that is held back.
	Text string
	// Truncated counts the bytes that Text leaves out. It is nil if Text leaves
	// out nothing.
	Truncated *headtail.Truncation
	// Next is the offset at which to go on reading.
	Next int64
	// Live is how many of Text's last bytes are the part that is held back.
	Live int
	// Matched reports whether the matcher has matched, and Found is the line.
	Matched bool
	Found   Found
	// Unsearched is how many bytes the pattern was not matched against.
	Unsearched int64

	snap headtail.Snapshot // from which Text was made
	held int               // how many of its last bytes are held back
}

// within returns the same page with a Text of another limit.
func (p Page) within(limit headtail.Limits) Page {
	p.Text, p.Truncated = p.snap.Text(limit)
	live := p.snap.Tail[len(p.snap.Tail)-p.held:]
	p.Live = len(linediff.Valid(live))
	if p.Truncated == nil {
		return p
	}
	begin := p.snap.Total - int64(p.held)
	for _, c := range p.Truncated.Cuts {
		if c.To <= begin {
			continue
		}
		// Some of it is left out.
		p.Live = len(p.Text) - c.At
		if c.From > begin {
			p.Live += len(linediff.Valid(live[:c.From-begin]))
		} else {
			p.Live -= c.Len
		}
		break
	}
	return p
}

// Read returns a page. If m is not nil, Read also takes back this matcher, with
// which the stream was watched.
func (s *Stream) Read(from int64, limit headtail.Limits, m *Matcher) Page {
	snap, pending, matched := s.snapshot(from, m)
	next := snap.Total
	if snap.Gap > 0 && s.log != nil {
		s.awaitLog()
		most, _ := limit.Resolve()
		s.log.fill(&snap, int64(most))
	}
	if len(pending) > 0 {
		// The newest line can be seen, but has no offset yet.
		snap.Tail = append(snap.Tail, pending...)
		snap.Total += int64(len(pending))
	}
	page := Page{Next: next, Matched: matched, snap: snap, held: len(pending)}
	if m != nil {
		page.Found, page.Unsearched = m.found, m.skipped
	}
	return page.within(limit)
}

// snapshot takes a snapshot and, at the same moment, takes a matcher back: the
// text that it has matched is in the snapshot. pending is the text that is held
// back: it comes after the snapshot and may still change.
func (s *Stream) snapshot(from int64, m *Matcher) (snap headtail.Snapshot, pending []byte, matched bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	snap, pending = s.buf.Snapshot(from), s.pending()
	if m != nil {
		s.leave(m)
		m.look(func() int64 { return snap.Total }, pending)
		matched = m.done
	}
	return snap, pending, matched
}

// fill adds to a snapshot the part of its gap that a text of want bytes can
// show: as much from the beginning of the gap and from its end.
func (g *logFile) fill(s *headtail.Snapshot, want int64) {
	from := s.From + int64(len(s.Head))
	if n := min(s.Gap, want-int64(len(s.Head))); n > 0 {
		p := g.read(from, n)
		if int64(len(p)) < s.Gap {
			whole := headtail.New(len(p), 0)
			_, _ = whole.Write(p)      // never fails
			p = whole.Snapshot(0).Head // no rune is cut at a gap
		}
		s.Head = append(s.Head, p...)
		s.Gap -= int64(len(p))
	}
	to := s.Total - int64(len(s.Tail))
	if n := min(s.Gap, want-int64(len(s.Tail))); n > 0 {
		p := g.read(to-n, n)
		if int64(len(p)) < n {
			return // the log does not reach the tail
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

// Whole returns all of the output of a stream that has ended. ok is false if it has
// not ended, if it has over most bytes, or if the window and the log have not all
// of it. A command can write to a log's file. So the log counts only if it has the
// bytes that this program has written to it.
func (s *Stream) Whole(most int64) (text string, ok bool) {
	s.mu.Lock()
	ended := s.ended
	s.mu.Unlock()
	if total := s.buf.Total(); !ended || total > most {
		return "", false
	}
	switch snap := s.buf.Snapshot(0); {
	case snap.Gap == 0:
		return string(snap.Head) + string(snap.Tail), true
	case s.log == nil:
		return "", false
	default:
		s.awaitLog()
		return s.log.whole(snap.Total)
	}
}

// whole returns the bytes of a log, if they are as many as the stream has and as
// they were written.
func (g *logFile) whole(total int64) (text string, ok bool) {
	p := g.read(0, total)
	g.mu.Lock()
	defer g.mu.Unlock()
	if int64(len(p)) != total || maphash.Bytes(g.sum.Seed(), p) != g.sum.Sum64() {
		return "", false
	}
	return string(p), true
}
