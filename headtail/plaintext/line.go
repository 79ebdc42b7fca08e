package plaintext

import (
	"bytes"
	"io"
	"slices"
	"unicode/utf8"
)

// A line is the unfinished line: the part of it that has been written, and the
// part that is held back. A state of a line is the text between two carriage
// returns, or what a program has made of it behind a backspace.
type line struct {
	first  []byte // the state that has been written; empty if that state is long
	long   bool   // the written state is longer than limit
	shown  bool   // the written state is long, or not blank
	held   bool   // a carriage return or a cursor's move came after the written state
	cur    []byte // the state that is being drawn, while held
	newest []byte // the last state before cur that was not blank
	back   int    // how many bytes the cursor stands before the end of the state
	away   bool   // the cursor is on another row, and does not move back over this text
}

// reset begins a new line. It keeps the buffers for that line.
func (l *line) reset() {
	l.first, l.cur, l.newest = l.first[:0], l.cur[:0], l.newest[:0]
	l.long, l.shown, l.held, l.back, l.away = false, false, false, 0, false
}

// state returns the state that is being drawn; it is not known if it is long.
func (l *line) state() []byte {
	if l.held {
		return l.cur
	}
	return l.first
}

// left moves the cursor n columns back, to the beginning of the state at most. It moves
// nothing and returns false if the state is long or has an ESC, because the text behind an
// ESC keeps that from being a sequence.
func (l *line) left(n int) bool {
	s := l.state()
	if l.long && !l.held || bytes.IndexByte(s, esc) >= 0 {
		return false
	}
	for ; n > 0 && l.back < len(s) && !l.away; n-- {
		_, size := utf8.DecodeLastRune(s[:len(s)-l.back])
		l.back += size
	}
	return true
}

// leave notes that the cursor goes to another row.
func (l *line) leave() { l.back, l.away = 0, true }

// right moves the cursor n columns forward within the state. It returns how many of them
// lie beyond its end.
func (l *line) right(n int) int {
	s := l.state()
	for ; n > 0 && l.back > 0; n-- {
		_, size := utf8.DecodeRune(s[len(s)-l.back:])
		l.back -= size
	}
	return n
}

// over moves the cursor over the beginning of b as far as that stands there already, as
// text that is struck twice does, and returns the length of that. Anything else begins a
// new state with what stands before the cursor. b has no newline.
func (l *line) over(b []byte) (n int) {
	s := l.state()
	for l.back > 0 && n < len(b) && b[n] == s[len(s)-l.back] {
		l.back--
		n++
	}
	if l.back == 0 || n == len(b) {
		return n
	}
	rest := s[:len(s)-l.back]
	if l.held && blank(rest) && !blank(l.cur) {
		l.newest = append(l.newest[:0], l.cur...)
	}
	l.cur, l.held, l.back = append(l.cur[:0], rest...), true, 0
	return n
}

// write writes text of a line that is not held back. The text may contain
// newlines.
func (l *line) write(out io.Writer, b []byte) {
	l.track(b)
	_, _ = out.Write(b)
}

// track remembers text that is written. If a carriage return comes, the next
// state is compared with that text.
func (l *line) track(b []byte) {
	b = b[max(0, len(b)-limit-1):] // enough to see that a line is long
	if i := lastNewline(b); i >= 0 {
		l.reset()
		b = b[i+1:]
	}
	l.long = l.long || len(l.first)+len(b) > limit
	l.shown = l.shown || l.long || !blank(b)
	if l.long {
		l.first = l.first[:0]
	} else {
		l.first = append(l.first, b...)
	}
}

func (l *line) carriageReturn() {
	if !blank(l.cur) {
		l.cur, l.newest = l.newest, l.cur
	}
	l.cur = l.cur[:0]
	l.held, l.back, l.away = true, 0, false
}

// draw takes a part of the state that is being drawn. The part has no newline.
func (l *line) draw(out io.Writer, b []byte) {
	switch {
	case len(l.cur)+len(b) > limit:
		if l.shown {
			_, _ = out.Write(newline)
		}
		_, _ = out.Write(l.cur)
		_, _ = out.Write(b)
		l.reset()
		l.long, l.shown = true, true
	case !l.shown && !blank(b):
		// No state has been shown before, so there is nothing to hold back for.
		_, _ = out.Write(l.cur)
		_, _ = out.Write(b)
		l.first, l.cur = append(l.cur, b...), l.first[:0]
		l.shown, l.held = true, false
	default:
		l.cur = append(l.cur, b...)
	}
}

// newline ends a line that is held back.
func (l *line) newline(out io.Writer) {
	last := l.cur
	if blank(last) {
		last = l.newest
	}
	if l.adds(last) {
		_, _ = out.Write(newline)
		_, _ = out.Write(last)
	}
	_, _ = out.Write(newline)
	l.reset()
}

// adds reports whether a state has to be written in addition to the first.
func (l *line) adds(last []byte) bool {
	return len(last) > 0 && !bytes.Equal(last, l.first)
}

// rest returns the text that newline would write, without the newline itself,
// if seq came before that newline as text.
func (l *line) rest(seq []byte) []byte {
	if !l.held && (l.back == 0 || len(seq) == 0) {
		return slices.Concat(seq) // nil if seq is empty
	}
	s := l.state()
	if len(seq) > 0 {
		s = s[:len(s)-l.back]
	}
	last := slices.Concat(s, seq)
	if blank(last) {
		last = l.newest
	}
	switch {
	case !l.adds(last):
		return nil
	case !l.shown:
		return last
	}
	return slices.Concat(newline, last)
}

var newline = []byte{'\n'}

// blank reports whether b shows nothing, because all of it is spaces and
// control characters. Tools erase a line with spaces, Windows ends a line with
// more than one carriage return, and in UTF-16 a NUL comes after each. An ESC
// is not blank here: an ESC that gets here is text, and no byte may be joined
// to it.
func blank(b []byte) bool {
	for _, c := range b {
		if c > ' ' && c != 0x7f || c == esc {
			return false
		}
	}
	return true
}

// lastNewline returns the index of the last newline, or -1. LastIndexByte goes
// byte by byte, which takes too long if no newline is near the end.
func lastNewline(b []byte) int {
	const near = 64
	for len(b) > near && bytes.IndexByte(b[len(b)-near:], '\n') < 0 {
		b = b[:len(b)-near]
	}
	return bytes.LastIndexByte(b, '\n')
}
