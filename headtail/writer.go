package headtail

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// hole stands for an invalid byte of the stream while a text is cut. It has the
// shape and the length of a rune, like the U+FFFD that replaces it in the end.
// But it is a surrogate half, which is never part of valid UTF-8. So an invalid
// byte can still be told apart from a U+FFFD of the stream, and be counted.
const hole = "\xed\xb2\x80"

// replacement is the rune that replaces a hole in the end.
const replacement = string(utf8.RuneError)

// escape returns b with a hole for each invalid byte.
func escape(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	out := make([]byte, 0, len(b)+len(b)/4)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			out = append(out, hole...)
		} else {
			out = append(out, b[:n]...)
		}
		b = b[n:]
	}
	return out
}

// streamLen returns how many bytes of the stream b was made from.
func streamLen(b []byte) int64 {
	return int64(len(b) - bytes.Count(b, []byte(hole))*(len(hole)-1))
}

// A marker is the text around the number of missing bytes.
type marker struct{ open, close string }

var (
	gapMarker  = marker{"\n\n... [omitted ", " bytes] ...\n\n"}
	lineMarker = marker{" ... [omitted ", " bytes] ... "}
)

func (m marker) size(n int64) int {
	var digits [20]byte
	return len(m.open) + len(strconv.AppendInt(digits[:0], n, 10)) + len(m.close)
}

// A writer builds a text, and notes what it leaves out.
type writer struct {
	strings.Builder
	at   int64 // the offset of the next byte of the stream
	cuts []Cut
}

func (w *writer) text(b []byte) {
	for {
		part, rest, found := bytes.Cut(b, []byte(hole))
		w.Write(part)
		w.at += int64(len(part))
		if !found {
			return
		}
		w.WriteString(replacement)
		w.at++
		b = rest
	}
}

func (w *writer) marker(m marker, n int64) {
	var digits [20]byte
	c := Cut{At: w.Len(), Line: m == lineMarker}
	w.WriteString(m.open)
	w.Write(strconv.AppendInt(digits[:0], n, 10))
	w.WriteString(m.close)
	c.Len = w.Len() - c.At
	w.skip(c, n)
}

// skip notes that the text leaves out the next n bytes of the stream, and the
// marker that it has for them.
func (w *writer) skip(c Cut, n int64) {
	c.From, c.To = w.at, w.at+n
	if n > 0 {
		w.cuts = append(w.cuts, c)
	}
	w.at = c.To
}

func (w *writer) pieces(ps []piece) {
	for _, p := range ps {
		w.text(p.text)
		if p.cut > 0 {
			w.marker(lineMarker, p.cut)
		}
	}
}

// truncated returns the text, and the Truncation for a stream of original
// bytes.
func (w *writer) truncated(original int64) (string, *Truncation) {
	t := &Truncation{OriginalBytes: original, Strategy: strategy, Cuts: w.cuts}
	for _, c := range w.cuts {
		t.OmittedBytes += c.To - c.From
		if c.Line {
			t.TruncatedLines++
		}
	}
	t.RetainedBytes = original - t.OmittedBytes
	return w.String(), t
}
