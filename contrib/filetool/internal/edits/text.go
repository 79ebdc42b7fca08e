package edits

import (
	"sort"
	"strings"
)

// A text is the content of a file, with another text beside it in which all lines end
// with \n. Edits are looked for in the latter, and made in the former.
type text struct {
	s     string
	plain string
	crs   []int // where in plain each \n stands for \r\n, in order
	lines []int // where in plain each line begins, in order; always at least one
}

func newText(s string) text {
	t := text{s: s, plain: s, lines: []int{0}}
	if strings.Contains(s, "\r\n") {
		var b strings.Builder
		for rest := s; ; {
			line, after, ok := strings.Cut(rest, "\r\n")
			b.WriteString(line)
			if !ok {
				break
			}
			t.crs = append(t.crs, b.Len())
			b.WriteByte('\n')
			rest = after
		}
		t.plain = b.String()
	}
	for i := 0; ; {
		n := strings.IndexByte(t.plain[i:], '\n')
		if n < 0 {
			break
		}
		i += n + 1
		t.lines = append(t.lines, i)
	}
	return t
}

// at returns the offset in s of an offset in plain.
func (t text) at(plain int) int { return plain + sort.SearchInts(t.crs, plain) }

// line returns the number of the line that has an offset in plain, from 0 on.
func (t text) line(plain int) int { return sort.SearchInts(t.lines, plain+1) - 1 }

// count returns how many lines there are. What follows the last line end is a line
// if it is not empty.
func (t text) count() int {
	if t.lines[len(t.lines)-1] == len(t.plain) {
		return len(t.lines) - 1
	}
	return len(t.lines)
}

// text returns a line without its end.
func (t text) text(line int) string {
	return strings.TrimSuffix(t.plain[t.lines[line]:t.end(line)], "\n")
}

// end returns where the next line begins, in plain.
func (t text) end(line int) int {
	if line+1 < len(t.lines) {
		return t.lines[line+1]
	}
	return len(t.plain)
}

// lineEnd returns how the line with an offset ends, or the one before it, or the
// first one.
func (t text) lineEnd(plain int) string {
	if len(t.crs) == 0 {
		return "\n"
	}
	n := t.line(plain)
	for _, line := range [...]int{n, n - 1, 0} {
		if line < 0 || t.end(line) == 0 || t.plain[t.end(line)-1] != '\n' {
			continue
		}
		i := sort.SearchInts(t.crs, t.end(line)-1)
		if i < len(t.crs) && t.crs[i] == t.end(line)-1 {
			return "\r\n"
		}
		return "\n"
	}
	return "\n"
}

// A piece is a part of a text, between two offsets in plain, and what comes there.
type piece struct {
	from, to int
	with     string
}

// replace returns the text with some pieces replaced, which are in order and do not
// overlap, and what has changed. What a piece has in common with what is there stays
// untouched.
func (t text) replace(pieces []piece) (string, []Change) {
	var b strings.Builder
	var changes []Change
	at := 0
	for _, p := range pieces {
		with := p.with
		from, to := p.from, p.to
		n := 0
		for n < len(with) && from+n < to && with[n] == t.plain[from+n] {
			n++
		}
		with, from = with[n:], from+n
		n = 0
		for n < len(with) && to-n > from && with[len(with)-1-n] == t.plain[to-1-n] {
			n++
		}
		with, to = with[:len(with)-n], to-n
		b.WriteString(t.s[at:t.at(from)])
		at = t.at(to)
		c := Change{From: t.at(from), To: at, Start: b.Len()}
		b.WriteString(strings.ReplaceAll(with, "\n", t.lineEnd(from)))
		if c.End = b.Len(); c.From < c.To || c.Start < c.End {
			changes = append(changes, c)
		}
	}
	b.WriteString(t.s[at:])
	return b.String(), changes
}
