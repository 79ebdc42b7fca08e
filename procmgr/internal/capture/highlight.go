package capture

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/internal/ranking"
)

// A Highlight is a line that tells of trouble, in a part of the output that a
// text leaves out. It stands for all lines of its kind there.
type Highlight struct {
	Line   int    // its number in the stream, from 1 on; 0 if that is not known
	Offset int64  // the offset at which it begins, or its part that is left out
	Text   string // the line and up to two lines that follow, each of at most 300 bytes
	Count  int    // how many more of its kind are left out
}

const (
	// maxSearch and maxSearchTime bound the search for one page.
	maxSearch     = 64 << 20
	maxSearchTime = 200 * time.Millisecond
	// searchChunk is how much of a log is searched at a time.
	searchChunk = 256 << 10
	// maxKinds is how many kinds of a weight are told apart. More would be a
	// list of lines, which nobody can read.
	maxKinds = 2048
	// maxFollowing is how many lines are shown after a highlight.
	maxFollowing = 2
)

// Highlights looks through the output that the text of a page leaves out, as far as
// the log has it. It returns highlights of at most room bytes of text, the gravest first,
// and how many of the bytes that are left out were not searched.
func (s *Stream) Highlights(p Page, room int) (found []Highlight, unscanned int64) {
	return s.highlightsWithin(p, room, maxSearchTime)
}

// highlightsWithin is Highlights with another time for the search.
func (s *Stream) highlightsWithin(p Page, room int, limit time.Duration) (found []Highlight, unscanned int64) {
	if p.Truncated == nil || room <= 0 || s.log == nil {
		return nil, 0
	}
	s.awaitLog()
	return s.log.highlights(p.from, p.Next, p.Truncated.Cuts, room, limit)
}

// A finding is a kind of line.
type finding struct {
	first  int64 // the offset of the first line of the kind, shown or left out
	offset int64 // of the first one that is left out
	hit    int64 // of the end of the word in it that says most
	end    int64 // of the part that is left out, and that the line is in
	all    int   // how many lines are of the kind
	hidden int   // how many of them are left out
	weight int
}

// A scan looks for trouble in the log of a stream.
type scan struct {
	log      *logFile
	deadline time.Time
	left     int64 // bytes that may still be searched
	kinds    map[string]*finding
	room     [weights]int // how many more kinds of each weight there may be
	searched int64
}

// highlights does the work of Highlights for the parts that are left out of a
// text that begins at an offset and ends before another.
func (g *logFile) highlights(from, to int64, cuts []headtail.Cut, room int, limit time.Duration) (found []Highlight, unscanned int64) {
	now := time.Now()
	// A part of the time is for the numbers of the lines.
	s := scan{log: g, deadline: now.Add(limit * 3 / 4), left: maxSearch, kinds: make(map[string]*finding)}
	for i := range s.room {
		s.room[i] = maxKinds
	}
	cuts = slices.Clone(cuts)
	shown := from
	for i, c := range cuts {
		if !c.Line {
			// A line that is shown may have lines after it that are not.
			c.From = max(g.linesBefore(c.From, maxFollowing), shown)
			cuts[i] = c
		}
		unscanned += c.To - c.From
		s.shown(shown, c.From)
		shown = c.To
	}
	s.shown(shown, to)
	// The parts within lines are small, so the great one comes last.
	slices.SortStableFunc(cuts, func(a, b headtail.Cut) int { return cmp.Compare(a.To-a.From, b.To-b.From) })
	for _, c := range cuts {
		s.part(c)
	}
	found = s.choose(room)
	g.number(found, now.Add(limit))
	return found, unscanned - s.searched
}

// linesBefore returns the offset at which the last n lines before another offset
// begin, or that offset if they are long.
func (g *logFile) linesBefore(at int64, n int) int64 {
	from := max(at-int64(n)*maxLine, 0)
	p := g.read(from, at-from)
	if int64(len(p)) < at-from {
		return at
	}
	i := len(p)
	for ; n >= 0 && i >= 0; n-- {
		i = bytes.LastIndexByte(p[:i], '\n')
	}
	switch {
	case i >= 0:
		return from + int64(i) + 1
	case from == 0:
		return 0
	}
	return at
}

// over reports whether the search has to end.
func (s *scan) over() bool { return s.left <= 0 || time.Now().After(s.deadline) }

// shown counts the lines of each kind in a part that the text has. So the order
// of the kinds does not depend on how much the text has.
func (s *scan) shown(from, to int64) {
	for from < to && !s.over() {
		p := s.log.read(from, min(searchChunk, to-from))
		if len(p) == 0 {
			return
		}
		s.chunk(p, from, none, false)
		from += int64(len(p))
	}
}

// part searches one part, from both ends to its middle, because the lines next to
// the text are most likely about the same.
func (s *scan) part(c headtail.Cut) {
	from, to := c.From, c.To
	within := false // the front goes on within a line
	for front := true; from < to && !s.over(); front = !front {
		n := min(searchChunk, to-from, s.left)
		at := from
		if !front {
			at = to - n
		}
		p := s.log.read(at, n)
		if int64(len(p)) < n {
			if front {
				return // the log has no more
			}
			to = at + int64(len(p))
			continue
		}
		continued := within
		if front {
			// The last line goes on in the next chunk.
			if i := bytes.LastIndexByte(p, '\n') + 1; i > 0 && from+n < to {
				p = p[:i]
			}
			from += int64(len(p))
			within = p[len(p)-1] != '\n'
		} else {
			// The first line begins in the next chunk.
			switch i := bytes.IndexByte(p, '\n') + 1; {
			case at == from:
			case i > 0 && i < len(p):
				p, at, continued = p[i:], at+int64(i), false
			default:
				continued = true
			}
			to = at
		}
		s.chunk(p, at, c.To, continued)
		s.left -= int64(len(p))
		s.searched += int64(len(p))
	}
}

// chunk finds the lines of p that tell of trouble. at is the offset of p, and
// end is that of the end of the part, or negative if the text has it. continued
// says that p begins within a line, which counts with the chunk in which it
// begins.
func (s *scan) chunk(p []byte, at, end int64, continued bool) {
	var odd oddities
	for begin := 0; begin < len(p); {
		next := len(p)
		if i := bytes.IndexByte(p[begin:], '\n'); i >= 0 {
			next = begin + i + 1
		}
		line := p[begin:next]
		v := judge(line)
		if v.weight > none {
			s.add(p[begin:], next-begin, at+int64(begin), end, v, !continued || begin > 0)
		}
		for _, o := range odd.next(p, begin, next, v) {
			s.add(p[o.begin:], o.end-o.begin, at+int64(o.begin), end, verdict{weight: told, hit: o.hit - o.begin}, true)
		}
		begin = next
	}
}

// add counts the first line of a text, which has n bytes and stands at an offset.
func (s *scan) add(text []byte, n int, offset, end int64, v verdict, counts bool) {
	var buf [2*maxKind + 8]byte
	key := buf[:0]
	if v.heading {
		key = append(key, text[:min(n, maxKind)]...) // each stands for itself
	} else {
		key = appendKind(key, text[:n])
	}
	if announces(text[:n]) {
		// The next line says the rest.
		next, _, _ := bytes.Cut(text[n:], []byte{'\n'})
		key = append(key, '\n')
		key = append(key, appendKind(nil, next)...)
	}
	key = append(key, byte(v.weight))
	f := s.kinds[string(key)]
	if f == nil {
		if s.room[v.weight] == 0 {
			return
		}
		s.room[v.weight]--
		f = &finding{first: offset, offset: -1, weight: v.weight}
		s.kinds[string(key)] = f
	}
	f.first = min(f.first, offset)
	if counts {
		f.all++
	}
	if end < 0 {
		return
	}
	if counts || f.hidden == 0 {
		f.hidden++
	}
	if f.offset < 0 || offset < f.offset {
		f.offset, f.hit, f.end = offset, offset+int64(v.hit), end
	}
}

// choose returns what the room has space for, in the order of rank: first the
// kinds that say more of trouble, then those that are rarer, then those that
// come earlier. It ends with the first line that does not fit, so that more room
// never shows less.
func (s *scan) choose(room int) []Highlight {
	var all []*finding
	for _, f := range s.kinds {
		if f.hidden > 0 {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b *finding) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(bits.Len(uint(a.all)), bits.Len(uint(b.all))), cmp.Compare(a.first, b.first))
	})
	var found []Highlight
	var shown []*finding          // those in found, and the next one
	var lines [][]quoted          // of these
	taken := make(map[int64]bool) // the offsets of the lines in found
	size := func(i, line int) (int, bool) {
		for ; i == len(shown) && len(all) > 0; all = all[1:] {
			if taken[all[0].offset] {
				continue
			}
			if of := s.lines(all[0]); len(of) > 0 {
				shown, lines = append(shown, all[0]), append(lines, of)
			}
		}
		if i == len(shown) || line == len(lines[i]) || taken[lines[i][line].offset] {
			return 0, false
		}
		return len(lines[i][line].text), true
	}
	for i, n := range ranking.Lines(size) {
		line := lines[i][n]
		if room -= len(line.text) + min(n, 1); room < 0 {
			break
		}
		taken[line.offset] = true
		if n == 0 {
			found = append(found, Highlight{Offset: line.offset, Text: line.text, Count: shown[i].hidden - 1})
		} else {
			found[i].Text += "\n" + line.text
		}
	}
	return found
}

// A quoted is a line as a highlight shows it.
type quoted struct {
	offset int64
	text   string
}

// announces reports whether a line ends with a colon.
func announces(line []byte) bool {
	return bytes.HasSuffix(bytes.TrimRight(line, " \t\r\n"), []byte{':'})
}

// lines returns the line of a finding, and the lines after it that tell of no
// trouble themselves. An empty line ends them, except behind a colon.
func (s *scan) lines(f *finding) []quoted {
	from := max(f.offset, f.hit-maxLine/2)
	p := s.log.read(from, min(f.hit-from+maxLine, f.end-from))
	hit := int(f.hit - from)
	if len(p) < hit {
		return nil // the log is gone
	}
	line, rest, more := bytes.Cut(p, []byte{'\n'})
	at := from + int64(len(line)) + 1
	line = bytes.TrimRight(line, "\r")
	lines := []quoted{{f.offset, QuoteAround(line, min(max(hit-1, 0), len(line)), maxQuote)}}
	for more && len(lines) <= maxFollowing {
		blank := announces(line)
		line, rest, more = bytes.Cut(rest, []byte{'\n'})
		offset := at
		at += int64(len(line)) + 1
		line = bytes.TrimRight(line, " \t\r")
		if v := judge(line); len(line) == 0 && (!blank || len(rest) == 0 || rest[0] == '\n') || v.weight > said && !v.heading {
			break
		}
		lines = append(lines, quoted{offset, QuoteAround(line, 0, maxQuote)})
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

// maxKind is how much of a line counts for its kind, in bytes.
const maxKind = 80

// appendKind appends to an empty key the form of a line. Lines that differ in
// numbers and names only have the same form. A run of digits is 0. Hexadecimal
// numbers, quoted words and paths are one sign each, and blanks are one blank. The
// first 80 bytes of that count.
func appendKind(key, line []byte) []byte {
	blank := true
	for i := 0; i < len(line) && len(key) < maxKind; {
		c := line[i]
		if c == ' ' || c == '\t' || c == '\r' || c == '\n' {
			i++
			if !blank {
				key = append(key, ' ')
			}
			blank = true
			continue
		}
		blank = false
		if n := quotedLen(line[i:]); n > 0 {
			key = append(key, 'Q')
			i += n
			continue
		}
		n := wordLen(line[i:])
		switch word := line[i : i+n]; {
		case n == 0:
			key = append(key, c)
			n = 1
		case isPath(word):
			key = append(key, '/')
		case isHex(word):
			key = append(key, '#')
		default:
			digits := false
			for _, c := range word {
				is := c >= '0' && c <= '9'
				switch {
				case is && !digits:
					key = append(key, '0')
				case !is:
					key = append(key, c)
				}
				digits = is
			}
		}
		i += n
	}
	return key[:min(len(key), maxKind)]
}

// quotedLen returns the length of the quoted words that a text begins with, or
// 0 if it begins with none.
func quotedLen(text []byte) int {
	end := text[0]
	size := 1
	switch {
	case end == '"', end == '\'', end == '`':
	case bytes.HasPrefix(text, []byte("‘")):
		return closedBy(text, "’")
	case bytes.HasPrefix(text, []byte("“")):
		return closedBy(text, "”")
	default:
		return 0
	}
	if i := bytes.IndexByte(text[size:min(len(text), 200)], end); i >= 0 {
		return size + i + 1
	}
	return 0
}

func closedBy(text []byte, end string) int {
	if i := bytes.Index(text[:min(len(text), 200)], []byte(end)); i >= 0 {
		return i + len(end)
	}
	return 0
}

// wordLen returns the length of the name, number or path that a text begins
// with.
func wordLen(text []byte) int {
	n := 0
	for n < len(text) && (isWord(text[n]) || strings.IndexByte("/.\\-+@~", text[n]) >= 0) {
		n++
	}
	return n
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c >= 0x80
}

// isPath reports whether a word is the path of a file: it has a slash between
// names, or it is a name with a suffix.
func isPath(word []byte) bool {
	if i := bytes.IndexAny(word, `/\`); i >= 0 {
		return len(word) > 1
	}
	i := bytes.LastIndexByte(word, '.')
	return i > 0 && i < len(word)-1 && len(word)-i <= 6 && word[i+1] >= 'a' && word[i+1] <= 'z'
}

// isHex reports whether a word is a hexadecimal number: with 0x, or of at least
// seven digits that are not all letters nor all decimal.
func isHex(word []byte) bool {
	digits, ok := bytes.CutPrefix(word, []byte("0x"))
	letters, decimals := 0, 0
	for _, c := range digits {
		switch {
		case c >= '0' && c <= '9':
			decimals++
		case c >= 'a' && c <= 'f', c >= 'A' && c <= 'F':
			letters++
		default:
			return false
		}
	}
	return ok && len(digits) > 0 || len(digits) >= 7 && letters > 0 && decimals > 0
}
