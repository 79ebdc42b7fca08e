package plaintext

import (
	"bytes"
	"slices"
)

// A line is the unfinished line: what has been written of it, and what is held
// back of it. A state of it is what stands between two carriage returns.
type line struct {
	first  []byte // the state that has been written, or nothing if it is long
	long   bool   // it is longer than limit
	shown  bool   // it is long, or more than blank
	held   bool   // a carriage return has come behind it
	cur    []byte // the state that is being drawn, while held
	newest []byte // the last one before it that was more than blank
}

// reset begins a line. The buffers stay, for the next one.
func (l *line) reset() {
	l.first, l.cur, l.newest = l.first[:0], l.cur[:0], l.newest[:0]
	l.long, l.shown, l.held = false, false, false
}

// write writes text of a line that is not held back. There may be newlines in
// it.
func (l *line) write(out *output, b []byte) {
	l.track(b)
	out.write(b)
}

// track takes note of text that is written: if a carriage return comes, it must
// be known what it returns from.
func (l *line) track(b []byte) {
	b = b[max(0, len(b)-limit-1):] // enough to tell that a line is long
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
	l.held = true
}

// draw takes a part of the state that is being drawn. There is no newline in it.
func (l *line) draw(out *output, b []byte) {
	switch {
	case len(l.cur)+len(b) > limit:
		if l.shown {
			out.write(newline)
		}
		out.write(l.cur)
		out.write(b)
		l.reset()
		l.long, l.shown = true, true
	case !l.shown && !blank(b):
		// Nothing has been seen before it, so there is nothing to wait for.
		out.write(l.cur)
		out.write(b)
		l.first, l.cur = append(l.cur, b...), l.first[:0]
		l.shown, l.held = true, false
	default:
		l.cur = append(l.cur, b...)
	}
}

// newline ends a line that is held back.
func (l *line) newline(out *output) {
	last := l.cur
	if blank(last) {
		last = l.newest
	}
	if l.adds(last) {
		out.write(newline)
		out.write(last)
	}
	out.write(newline)
	l.reset()
}

// adds reports whether a state has to be written besides the first.
func (l *line) adds(last []byte) bool {
	return len(last) > 0 && !bytes.Equal(last, l.first)
}

// rest returns what newline would write, but for the newline itself, if seq came
// before it as text.
func (l *line) rest(seq []byte) []byte {
	if !l.held {
		return slices.Concat(seq) // nil, where seq is empty
	}
	last := slices.Concat(l.cur, seq)
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

// blank reports whether b shows nothing: all of it is spaces and control
// characters. Tools erase a line with spaces, Windows ends one with more than
// one carriage return, and in UTF-16 a NUL comes behind each. An ESC is no blank
// here: it is only there where it is text, and nothing may be joined to it.
func blank(b []byte) bool {
	for _, c := range b {
		if c > ' ' && c != 0x7f || c == esc {
			return false
		}
	}
	return true
}

// lastNewline returns the index of the last newline, or -1. Looking for it
// backwards goes byte by byte, which takes too long where there is none near.
func lastNewline(b []byte) int {
	const near = 64
	for len(b) > near && bytes.IndexByte(b[len(b)-near:], '\n') < 0 {
		b = b[:len(b)-near]
	}
	return bytes.LastIndexByte(b, '\n')
}
