package linediff

import (
	"strings"
)

// sameLine reports whether two lines are the same but for what is taken as equal.
func sameLine(a, b string) bool {
	if a == b {
		return true
	}
	var maskA, maskB masks
	maskA.find(a)
	if len(maskA.spans) == 0 {
		return false // no line without a mask is the same as one with other bytes
	}
	maskB.find(b)
	if len(maskA.spans) != len(maskB.spans) {
		return false
	}
	i, j := 0, 0
	for n, m := range maskA.spans {
		o := maskB.spans[n]
		if m.form != o.form || a[i:m.from] != b[j:o.from] {
			return false
		}
		i, j = m.to, o.to
	}
	return a[i:] == b[j:]
}

// key returns a text that two lines have in common if and only if they are the
// same. mask is room for the work.
func key(line string, mask *masks) string {
	mask.find(line)
	if len(mask.spans) == 0 && strings.IndexByte(line, 0) < 0 {
		return line
	}
	// A mask is a NUL and its form. A NUL of the line is doubled, so no line can
	// look like the mask of another one.
	var b strings.Builder
	at := 0
	for _, m := range mask.spans {
		b.WriteString(strings.ReplaceAll(line[at:m.from], "\x00", "\x00\x00"))
		b.WriteByte(0)
		b.WriteByte(m.form)
		at = m.to
	}
	b.WriteString(strings.ReplaceAll(line[at:], "\x00", "\x00\x00"))
	return b.String()
}

// A span is a part of a line that is taken as equal to another one of its form.
type span struct {
	from, to int
	form     byte // never 0
}

// masks are the parts of a line that are taken as equal, in their order.
type masks struct{ spans []span }

// The forms of what is taken as equal.
const (
	formDate    = 'D' // a fraction of a second; see clock
	formAddress = 'x'
)

func (m *masks) add(from, to int, form byte) { m.spans = append(m.spans, span{from, to, form}) }

// find finds the parts of a line that are taken as equal.
func (m *masks) find(line string) {
	m.spans = m.spans[:0]
	text := strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
	if text == "" {
		return
	}
	if from, to, ok := clock(text); ok {
		m.clock(text, from, to)
		return // it is none of the other lines
	}
	if m.addresses(text); len(m.spans) > 0 {
		return
	}
	if from, to, form := duration(text); form != 0 {
		m.add(from, to, form)
	}
}

// digits returns how many decimal digits a text begins with.
func digits(text string) int {
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return n
}

// hexDigits does the same for hexadecimal ones.
func hexDigits(text string) int {
	n := 0
	for n < len(text) && (text[n] >= '0' && text[n] <= '9' || text[n] >= 'a' && text[n] <= 'f' || text[n] >= 'A' && text[n] <= 'F') {
		n++
	}
	return n
}
