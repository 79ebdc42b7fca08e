package capture

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/toolproc/toolproc/headtail"
)

// A Highlight is a line that tells of trouble, in a part of the output that a
// text leaves out. It stands for all lines of its kind there.
type Highlight struct {
	Line   int    // its number in the stream, from 1 on; 0 if that is not known
	Offset int64  // the offset at which it begins, or what is left out of it
	Text   string // the line and up to two lines that follow, each of at most 300 bytes
	Count  int    // how many more of its kind are left out
}

const (
	// maxSearch and maxSearchTime bound the search for one page.
	maxSearch     = 64 << 20
	maxSearchTime = 200 * time.Millisecond
	// searchChunk is how much of a log is searched at a time.
	searchChunk = 256 << 10
	// maxKinds is how many kinds are told apart. More would be a list of
	// lines, which nobody can read.
	maxKinds = 4096
	// maxFollowing is how many lines are shown after a highlight.
	maxFollowing = 2
)

// Highlights looks through what the text of a page leaves out, as far as the log
// has it. It returns highlights of at most room bytes of text, and how many of
// the bytes that are left out were not searched.
func (s *Stream) Highlights(p Page, room int) (found []Highlight, unscanned int64) {
	return s.highlightsWithin(p, room, maxSearchTime)
}

// highlightsWithin is Highlights with another time for the search.
func (s *Stream) highlightsWithin(p Page, room int, limit time.Duration) (found []Highlight, unscanned int64) {
	if p.Truncated == nil || room <= 0 || s.log == nil {
		return nil, 0
	}
	s.awaitLog()
	return s.log.highlights(p.Truncated.Cuts, room, limit)
}

// A finding is the first line of a kind.
type finding struct {
	offset int64 // of the line
	hit    int64 // of the end of the literal in it
	end    int64 // of the part that is left out, and that the line is in
	count  int   // of all lines of the kind
	weight int
}

// A scan looks for trouble in the log of a stream.
type scan struct {
	log      *logFile
	deadline time.Time
	left     int64 // bytes that may still be searched
	kinds    map[string]*finding
	searched int64
}

// highlights does the work of Highlights for the parts that are left out.
func (g *logFile) highlights(cuts []headtail.Cut, room int, limit time.Duration) (found []Highlight, unscanned int64) {
	now := time.Now()
	// A part of the time is for the numbers of the lines.
	s := scan{log: g, deadline: now.Add(limit * 3 / 4), left: maxSearch, kinds: make(map[string]*finding)}
	for _, c := range cuts {
		unscanned += c.To - c.From
	}
	// The parts within lines are small, so the great one comes last.
	cuts = slices.Clone(cuts)
	slices.SortStableFunc(cuts, func(a, b headtail.Cut) int { return cmp.Compare(a.To-a.From, b.To-b.From) })
	for _, c := range cuts {
		s.part(c)
	}
	found = s.choose(room)
	g.number(found, now.Add(limit))
	return found, unscanned - s.searched
}

// over reports whether the search has to end.
func (s *scan) over() bool { return s.left <= 0 || time.Now().After(s.deadline) }

// part searches one part, from both ends to its middle, because what stands
// next to the text is most likely about the same.
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
// end is that of the end of the part. continued says that p begins within a line,
// which counts with the chunk in which it begins.
func (s *scan) chunk(p []byte, at, end int64, continued bool) {
	for done := 0; done < len(p); {
		hit := trouble(p[done:])
		if hit < 0 {
			return
		}
		hit += done
		begin := done + bytes.LastIndexByte(p[done:hit], '\n') + 1
		next := len(p)
		if i := bytes.IndexByte(p[hit:], '\n'); i >= 0 {
			next = hit + i + 1
		}
		done = next
		key := kind(p[begin:next])
		f := s.kinds[key]
		switch {
		case f == nil && len(s.kinds) < maxKinds:
			s.kinds[key] = &finding{offset: at + int64(begin), hit: at + int64(hit), end: end, count: 1, weight: weight(p[begin:next], hit-begin)}
		case f == nil:
		default:
			if !continued || begin > 0 {
				f.count++
			}
			if offset := at + int64(begin); offset < f.offset {
				f.offset, f.hit, f.end = offset, at+int64(hit), end
			}
		}
	}
}

// weight returns how much a line says of trouble: more, if the literal that ends
// at hit is said as a message says it, as in "error: " or "FAILED".
func weight(line []byte, hit int) int {
	for hit < len(line) && isWord(line[hit]) {
		hit++ // error becomes errors or Error
	}
	begin := hit
	for begin > 0 && isWord(line[begin-1]) {
		begin--
	}
	word, before := line[begin:hit], bytes.TrimSpace(line[:begin])
	if len(word) > 2 && bytes.Equal(word, bytes.ToUpper(word)) || len(before) == 0 {
		return 1
	}
	if hit < len(line) && (line[hit] == ':' || line[hit] == '[' || line[hit] == '!') {
		return 1
	}
	return 0
}

// choose returns what the room has space for: first a line of each kind, those
// before others that say more of trouble and that are rarer, and then the lines
// that follow them. The highlights are in the order of the stream.
func (s *scan) choose(room int) []Highlight {
	var all []*finding
	for _, f := range s.kinds {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b *finding) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.count, b.count), cmp.Compare(a.offset, b.offset))
	})
	var found []Highlight
	following := make(map[int64][]string)
	for _, f := range all {
		lines := s.lines(f)
		if len(lines) == 0 || len(lines[0]) > room {
			continue
		}
		room -= len(lines[0])
		found = append(found, Highlight{Offset: f.offset, Text: lines[0], Count: f.count - 1})
		following[f.offset] = lines[1:]
	}
	for i := range found {
		for _, line := range following[found[i].Offset] {
			if len(line)+1 > room {
				break
			}
			room -= len(line) + 1
			found[i].Text += "\n" + line
		}
	}
	slices.SortFunc(found, func(a, b Highlight) int { return cmp.Compare(a.Offset, b.Offset) })
	return found
}

// lines returns the line of a finding, and the lines after it that tell of no
// trouble themselves. An empty line ends them.
func (s *scan) lines(f *finding) []string {
	from := max(f.offset, f.hit-maxLine/2)
	p := s.log.read(from, min(f.hit-from+maxLine, f.end-from))
	hit := int(f.hit - from)
	if len(p) < hit {
		return nil // the log is gone
	}
	line, rest, more := bytes.Cut(p, []byte{'\n'})
	lines := []string{QuoteAround(bytes.TrimRight(line, "\r"), min(max(hit-1, 0), len(bytes.TrimRight(line, "\r"))), maxQuote)}
	for more && len(lines) <= maxFollowing {
		line, rest, more = bytes.Cut(rest, []byte{'\n'})
		line = bytes.TrimRight(line, " \t\r")
		if len(line) == 0 || trouble(line) >= 0 {
			break
		}
		lines = append(lines, QuoteAround(line, 0, maxQuote))
	}
	return lines
}

// number sets the numbers of the lines, as far as there is time to count.
func (g *logFile) number(found []Highlight, deadline time.Time) {
	at, line := int64(0), 1
	for i := range found {
		for at < found[i].Offset {
			p := g.read(at, min(searchChunk, found[i].Offset-at))
			if len(p) == 0 || time.Now().After(deadline) {
				return
			}
			line += bytes.Count(p, []byte{'\n'})
			at += int64(len(p))
		}
		found[i].Line = line
	}
}

// maxKind is how much of a line counts for its kind, in bytes.
const maxKind = 80

// kind returns what lines that differ in numbers and names only have in common.
// A run of digits is 0. Hexadecimal numbers, quoted words and paths are one sign
// each, and blanks are one blank. The first 80 bytes of that count.
func kind(line []byte) string {
	var key strings.Builder
	blank := true
	for i := 0; i < len(line) && key.Len() < maxKind; {
		c := line[i]
		if c == ' ' || c == '\t' || c == '\r' || c == '\n' {
			i++
			if !blank {
				key.WriteByte(' ')
			}
			blank = true
			continue
		}
		blank = false
		if n := quotedLen(line[i:]); n > 0 {
			key.WriteByte('Q')
			i += n
			continue
		}
		n := wordLen(line[i:])
		switch word := line[i : i+n]; {
		case n == 0:
			key.WriteByte(c)
			n = 1
		case isPath(word):
			key.WriteByte('/')
		case isHex(word):
			key.WriteByte('#')
		default:
			digits := false
			for _, c := range word {
				is := c >= '0' && c <= '9'
				switch {
				case is && !digits:
					key.WriteByte('0')
				case !is:
					key.WriteByte(c)
				}
				digits = is
			}
		}
		i += n
	}
	return key.String()[:min(key.Len(), maxKind)]
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
