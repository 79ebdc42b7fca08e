package capture

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr/internal/linediff"
)

// A Highlight is a line that tells of trouble, in a part of the output that a
// text leaves out. It stands for all lines of its form there.
type Highlight struct {
	Line   int    // its number in the stream, from 1 on; 0 if that is not known
	Offset int64  // the offset at which it begins, or its part that is left out
	Text   string // the line and up to two lines that follow, each of at most 300 bytes
	Count  int    // how many more of its form are left out
}

const (
	// maxSearch bounds the search of each part that is left out, and maxSearchTime the
	// search for one page.
	maxSearch     = 64 << 20
	maxSearchTime = 200 * time.Millisecond
	// maxForms is how many forms of a weight are told apart. More would make a list
	// that is too long to read.
	maxForms     = 2048
	searchChunk  = 256 << 10 // how much of a log is searched at a time
	maxFollowing = 2         // lines that are shown after a highlight
	maxTwice     = 8 << 20   // how much a text may leave out for a second search
	maxCalm      = 15        // lines that are shown of a command that hasn't failed
	// besideLine is the room for what a reader puts beside each line, such as its number.
	besideLine = 16
)

// Highlighted returns highlights of at most room bytes, and the page with a Text that
// leaves them their part of its limit: without highlights it stays as it is.
func (s *Stream) Highlighted(p Page, limit headtail.Limits, room int, failed bool) (with Page, found []Highlight) {
	return s.highlightedWithin(p, limit, room, failed, maxSearchTime)
}

// highlightedWithin is Highlighted with another time for a search.
func (s *Stream) highlightedWithin(p Page, limit headtail.Limits, room int, failed bool, most time.Duration) (with Page, found []Highlight) {
	if p.Truncated == nil || room <= 0 || s.log == nil {
		return p, nil
	}
	without := func(taken int) Page {
		less := limit
		all, _ := limit.Resolve()
		less.Bytes = max(all-taken, 1)
		return p.within(less)
	}
	found = s.highlightsWithin(without(room), room, failed, most)
	text, lines := 0, 0
	for _, h := range found {
		text += len(h.Text)
		lines += strings.Count(h.Text, "\n") + 1
	}
	with = without(min(text+lines*besideLine, room))
	before := len(found)
	found = slices.DeleteFunc(found, with.shows)
	if len(found) < before && p.Truncated.OmittedBytes <= maxTwice {
		// There is room for others.
		found = slices.DeleteFunc(s.highlightsWithin(with, text, failed, most), with.shows)
	}
	if len(found) == 0 {
		return p, nil
	}
	return with, found
}

// shows reports whether the text of a page has the lines of a highlight. If the text
// of the highlight lacks its beginning, it is not known where it ends.
func (p Page) shows(h Highlight) bool {
	if strings.HasPrefix(h.Text, "…") {
		return false
	}
	end := h.Offset + int64(len(h.Text))
	return p.Truncated == nil || !slices.ContainsFunc(p.Truncated.Cuts, func(c headtail.Cut) bool { return h.Offset < c.To && c.From < end })
}

// highlightsWithin looks through the output that the text of a page leaves out, as far
// as the log has it. It returns highlights of at most room bytes of text, the gravest
// first. failed says that the command has failed, so that more lines count.
func (s *Stream) highlightsWithin(p Page, room int, failed bool, limit time.Duration) []Highlight {
	if p.Truncated == nil {
		return nil
	}
	s.awaitLog()
	now := time.Now()
	// A part of the time is for the numbers of the lines.
	search := scan{log: s.log, failed: failed, deadline: now.Add(limit * 3 / 4), forms: make(map[string]*finding)}
	shown := p.snap.From
	var parts []headtail.Cut
	for _, c := range p.Truncated.Cuts {
		if !c.Line {
			// A line that is shown may have lines after it that are not.
			c.From = max(s.log.linesBefore(c.From, maxFollowing), shown)
		}
		shown = c.To
		if c.To-c.From > maxSearch { // the lines next to the text are most likely about the same
			parts = append(parts, headtail.Cut{From: c.From, To: c.From + maxSearch/2})
			c.From = c.To - maxSearch/2
		}
		parts = append(parts, c)
	}
	// The parts within lines are small, so the great one comes last.
	slices.SortStableFunc(parts, func(a, b headtail.Cut) int { return cmp.Compare(a.To-a.From, b.To-b.From) })
	for _, part := range parts {
		search.part(part.From, part.To)
	}
	found := search.choose(room)
	s.log.number(found, now.Add(limit))
	return found
}

// A finding is a form of lines that tell of trouble.
type finding struct {
	offset int64 // of the first line
	hit    int64 // of the end of the word in it that says most
	end    int64 // of the part that the line is in
	count  int
	weight int
}

// A scan looks for trouble in the log of a stream.
type scan struct {
	log      *logFile
	failed   bool
	deadline time.Time
	forms    map[string]*finding
	all      [weights]int // how many forms there are of each weight
}

// linesBefore returns the offset at which the last n lines before another offset
// begin, or that offset if they are long.
func (g *logFile) linesBefore(at int64, n int) int64 {
	from := max(at-int64(n)*maxLine, 0)
	p := g.read(from, at-from)
	for ; n >= 0; n-- {
		i := bytes.LastIndexByte(p, '\n')
		switch {
		case i >= 0:
			p = p[:i]
		case from == 0:
			return 0
		default:
			return at
		}
	}
	return from + int64(len(p)) + 1
}

// part searches one part.
func (s *scan) part(from, end int64) {
	for from < end && time.Now().Before(s.deadline) {
		p := s.log.read(from, min(searchChunk, end-from))
		if len(p) == 0 {
			return // the log has no more
		}
		// The last line goes on in the next chunk.
		if i := bytes.LastIndexByte(p, '\n') + 1; i > 0 && from+int64(len(p)) < end {
			p = p[:i]
		}
		for line := range bytes.Lines(p) {
			if weight, hit := judge(line, s.failed); weight > nothing {
				s.add(line, from, end, weight, hit)
			}
			from += int64(len(line))
		}
	}
}

// add counts a line that begins at an offset.
func (s *scan) add(line []byte, offset, end int64, weight, hit int) {
	var room [maxForm + utf8.UTFMax]byte
	key := append(appendForm(room[:0], line), byte(weight))
	f := s.forms[string(key)]
	if f == nil {
		if s.all[weight]++; s.all[weight] > maxForms {
			return
		}
		f = &finding{weight: weight}
		s.forms[string(key)] = f
	}
	if f.count++; f.count == 1 || offset < f.offset {
		f.offset, f.hit, f.end = offset, offset+int64(hit), end
	}
}

// choose returns as many highlights as fit in room, by weight and then by position. It
// stops at the first line that doesn't fit, so that more room never shows less.
func (s *scan) choose(room int) (found []Highlight) {
	all := make([]*finding, 0, len(s.forms))
	for _, f := range s.forms {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b *finding) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.offset, b.offset))
	})
	left := maxCalm
	for _, f := range all {
		for i, line := range s.lines(f) {
			if room -= len(line) + min(i, 1); room < 0 || left == 0 && !s.failed {
				return found
			}
			left--
			if i == 0 {
				found = append(found, Highlight{Offset: f.offset, Text: line, Count: f.count - 1})
			} else {
				found[len(found)-1].Text += "\n" + line
			}
		}
	}
	return found
}

// lines returns the line of a finding, and the lines after it up to one that is empty or
// tells of trouble itself.
func (s *scan) lines(f *finding) (lines []string) {
	from := max(f.offset, f.hit-maxLine/2)
	p := s.log.read(from, min(f.hit-from+maxLine, f.end-from))
	hit := int(f.hit - from)
	if len(p) < hit {
		return nil // the log is gone
	}
	for line := range bytes.Lines(p) {
		line = bytes.TrimRight(line, " \t\r\n")
		if len(lines) > 0 {
			if weight, _ := judge(line, s.failed); weight > nothing || len(line) == 0 {
				break
			}
			hit = 0
		}
		if lines = append(lines, linediff.Excerpt(line, min(max(hit-1, 0), len(line)), maxQuote)); len(lines) > maxFollowing {
			break
		}
	}
	return lines
}

// number sets the numbers of the lines, as far as there is time to count.
func (g *logFile) number(found []Highlight, deadline time.Time) {
	order := make([]*Highlight, len(found))
	for i := range found {
		order[i] = &found[i]
	}
	slices.SortFunc(order, func(a, b *Highlight) int { return cmp.Compare(a.Offset, b.Offset) })
	at, line := int64(0), 1
	for _, h := range order {
		for at < h.Offset {
			p := g.read(at, min(searchChunk, h.Offset-at))
			if len(p) == 0 || time.Now().After(deadline) {
				return
			}
			line += bytes.Count(p, []byte{'\n'})
			at += int64(len(p))
		}
		h.Line = line
	}
}

// maxForm is how much of a form counts, in bytes.
const maxForm = 80

// appendForm appends to an empty key the form of a line. Lines that differ only in
// quoted text, and in words that have a digit or a slash, have the same form.
func appendForm(key, line []byte) []byte {
	for len(line) > 0 && len(key) < maxForm {
		if n := quoted(line); n > 0 {
			key, line = append(key, '"'), line[n:]
			continue
		}
		n, varies := 0, false
		for n < len(line) && line[n] > ' ' && quoted(line[n:]) == 0 {
			for first := true; n < len(line) && (first || isWord(line[n])); first = false {
				varies = varies || line[n] >= '0' && line[n] <= '9' || line[n] == '/' || line[n] == '\\'
				n++
			}
		}
		if varies {
			key = append(key, '0')
		} else {
			key = append(key, line[:n]...)
		}
		line = line[n:]
		if rest := bytes.TrimLeft(line, " \t\r\n"); len(rest) < len(line) {
			key, line = append(key, ' '), rest
		}
	}
	return key[:min(len(key), maxForm)]
}

// quoted returns the length of the quoted text that a line begins with, or 0.
func quoted(line []byte) int {
	opening, size := utf8.DecodeRune(line)
	closing := opening
	switch opening {
	case '"', '\'', '`':
	case '‘', '“':
		closing++
	default:
		return 0
	}
	if i := bytes.IndexRune(line[size:min(len(line), 200)], closing); i >= 0 {
		return size + i + utf8.RuneLen(closing)
	}
	return 0
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c >= 0x80
}
