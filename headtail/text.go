package headtail

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	DefaultTextLimit = 32 << 10 // most bytes that Text returns
	DefaultLineLimit = 2048     // most bytes of one line that Text returns
)

const (
	// minLine is the shortest length that a line is cut to. It has room for the
	// marker, and for enough of both ends to recognize the line.
	minLine = 64
	// minAround is the least room, in bytes, that a marker in the middle must
	// leave for the stream. If it would leave less, the text has no marker.
	minAround = 16
	// strategy names the only way of truncating that exists. It is there for
	// readers of a Truncation in JSON.
	strategy = "head_tail"
)

// Limits bounds the result of [Snapshot.Text], in bytes of the text. In each
// field, 0 means the default and a negative number means no limit.
type Limits struct {
	Bytes int `json:"bytes,omitempty"` // the whole text, including markers; 0: DefaultTextLimit
	Line  int `json:"line,omitempty"`  // one line, including its marker but not its line end; 0: DefaultLineLimit; under 64 counts as 64
}

// A Truncation says how much a text leaves out, in bytes of the stream.
// OriginalBytes == RetainedBytes + OmittedBytes. None of them counts the
// markers.
type Truncation struct {
	OriginalBytes  int64  `json:"original_bytes"`            // Total - From of the Snapshot
	RetainedBytes  int64  `json:"retained_bytes"`            // how many of those are in the text
	OmittedBytes   int64  `json:"omitted_bytes"`             // how many of those are not in the text
	TruncatedLines int    `json:"truncated_lines,omitempty"` // lines in the text whose middle is missing
	Strategy       string `json:"strategy"`                  // "head_tail"

	// Unknown says that an unknown number of bytes was lost beyond what is counted
	// here. OmittedBytes can be 0 then. A Snapshot never sets it, but a caller that
	// builds a Truncation for a stream read by another program may.
	Unknown bool `json:"unknown,omitempty"`

	// Cuts has each part of the stream that is left out, in the order of the
	// stream. A reader finds the markers of a text by it, because a program can
	// print text that looks like one. It is empty if the maker of the text does
	// not tell.
	Cuts []Cut `json:"cuts,omitempty"`
}

// A Cut is a part of the stream that a text leaves out, and the marker that
// stands for it. Offsets and lengths are bytes.
type Cut struct {
	From int64 `json:"from"`           // the offset in the stream at which it begins
	To   int64 `json:"to"`             // the offset in the stream at which the stream goes on in the text
	At   int   `json:"at"`             // the offset in the text at which its marker begins
	Len  int   `json:"len"`            // the length of the marker; 0: it has none
	Line bool  `json:"line,omitempty"` // it is in the middle of a line
}

// Text returns the Snapshot as valid UTF-8 of at most l.Bytes bytes, and the
// Truncation that says how much is left out. If nothing is left out, the
// Truncation is nil.
//
// Bytes that fit come back unchanged, except that each invalid byte becomes
// U+FFFD (three bytes, and all three count). Long lines stay whole as long as
// there is room for them. If the Snapshot has a gap, this marker takes its
// place (each \n is a line feed):
//
//	\n\n... [omitted 80 bytes] ...\n\n
//
// If the text would exceed l.Bytes, Text does the first of these that suffices:
//
//  1. It cuts every line longer than l.Line in its middle, to at most l.Line
//     bytes, and puts " ... [omitted 80 bytes] ... " there. Both ends of the
//     line stay, even if it is a last line that has not ended.
//  2. It cuts the middle of the text: around the gap, if there is one. So the
//     text has only one such marker, whose number counts all bytes that are
//     missing there. Beginning and end get half of the room each, and one of
//     them gets more if the other needs less. A cut moves outwards to a line
//     end if that costs no more than a quarter of that side's room.
//  3. If that marker would leave fewer than 16 bytes for the stream, the text
//     is the last kept bytes alone, without a marker: as many whole runes as
//     fit, and only from after the gap if there are bytes after it. Only the
//     Truncation says that something is missing.
//
// The numbers in the markers add up to OmittedBytes, except in the third case.
// Cuts fall between runes, and no two markers stand side by side.
func (s Snapshot) Text(l Limits) (string, *Truncation) {
	w := writer{at: s.From}
	limit, line := l.Resolve()
	front, back, gap := s.Head, s.Tail, max(s.Gap, 0)
	original := int64(len(front)) + gap + int64(len(back))
	if gap == 0 && len(back) > 0 {
		front, back = slices.Concat(front, back), nil
	}
	front, back = escape(front), escape(back)

	size := len(front) + len(back)
	if gap > 0 {
		size += gapMarker.size(gap)
	}
	if size <= limit {
		w.Grow(size)
		w.text(front)
		if gap == 0 {
			return w.String(), nil
		}
		w.marker(gapMarker, gap)
		w.text(back)
		return w.truncated(original)
	}

	// Most texts have few long lines, so arrays on the stack are enough.
	var a, z [4]piece
	frontPieces := cutLines(a[:0], front, line)
	backPieces := frontPieces
	size = sizeOf(frontPieces)
	if gap > 0 {
		backPieces = cutLines(z[:0], back, line)
		size += gapMarker.size(gap) + sizeOf(backPieces)
	}
	w.cuts = make([]Cut, 0, len(frontPieces)+len(backPieces))
	if size <= limit {
		w.Grow(size)
		w.pieces(frontPieces)
		if gap > 0 {
			w.marker(gapMarker, gap)
			w.pieces(backPieces)
		}
		return w.truncated(original)
	}

	// The number of missing bytes is known only after the cut. It is no more
	// than original, which bounds the length of the marker.
	room := limit - gapMarker.size(original)
	if room < minAround {
		last := front
		if len(back) > 0 {
			last = back // never joined to front without a marker between them
		}
		last = last[ceil(last, len(last)-min(limit, len(last))):]
		w.skip(Cut{}, original-streamLen(last))
		w.text(last)
		return w.truncated(original)
	}
	half := room / 2
	if gap > 0 {
		half = max(half, room-sizeOf(backPieces))
	}
	begin, last := takeFront(frontPieces, half)
	first, end := takeBack(backPieces, room-sizeOf(begin)-last.size())
	w.Grow(limit)
	w.pieces(begin)
	w.text(last.text)
	w.marker(gapMarker, original-covers(begin)-covers([]piece{last, first})-covers(end))
	w.pieces([]piece{first})
	w.pieces(end)
	return w.truncated(original)
}

// Resolve returns the limits, with each default filled in and [math.MaxInt] for
// no limit.
func (l Limits) Resolve() (limit, line int) {
	limit, line = l.Bytes, l.Line
	switch {
	case limit == 0:
		limit = DefaultTextLimit
	case limit < 0:
		limit = math.MaxInt
	}
	switch {
	case line == 0:
		line = DefaultLineLimit
	case line < 0:
		line = math.MaxInt
	}
	return limit, max(line, minLine)
}

// A piece is a run of text. If its last line is cut in the middle, cut counts
// the bytes that are missing between this piece and the next.
type piece struct {
	text []byte
	cut  int64 // bytes of the stream; 0: nothing is missing before the next piece
}

func (p piece) size() int {
	n := len(p.text)
	if p.cut > 0 {
		n += lineMarker.size(p.cut)
	}
	return n
}

func sizeOf(ps []piece) int {
	n := 0
	for _, p := range ps {
		n += p.size()
	}
	return n
}

// cutLines appends b to ps, split into pieces: every line of more than limit
// bytes is cut in its middle. Each piece but the last has a cut, and no piece
// between two cuts is empty.
func cutLines(ps []piece, b []byte, limit int) []piece {
	start := 0 // start of the current line
	kept := 0  // start of the first piece that is not appended yet
	for len(b)-start > limit {
		// A line that ends within the next limit bytes is not too long. So the
		// loop skips to the last line end among them, and need not look at each
		// line.
		if i := bytes.LastIndexByte(b[start:start+limit+1], '\n'); i >= 0 {
			start += i + 1
			continue
		}
		end := len(b)
		if i := bytes.IndexByte(b[start+limit+1:], '\n'); i >= 0 {
			end = start + limit + 1 + i
		}
		room := limit - lineMarker.size(int64(end-start))
		i := floor(b, start+room/2)
		j := ceil(b, end-(room-(i-start)))
		ps = append(ps, piece{b[kept:i], streamLen(b[i:j])})
		kept, start = j, end+1
	}
	return append(ps, piece{text: b[kept:]})
}

// covers returns how many bytes of the stream the pieces stand for. The bytes that
// their line markers count are included.
func covers(ps []piece) (n int64) {
	for _, p := range ps {
		n += streamLen(p.text) + p.cut
	}
	return n
}

// takeFront returns as much of the beginning of ps as fits into room bytes: whole
// pieces, and the beginning of the next one, which has no marker.
func takeFront(ps []piece, room int) (whole []piece, edge piece) {
	slack := room / 4
	for i, p := range ps {
		if p.size() <= room {
			room -= p.size()
			continue
		}
		n := len(p.text)
		if n > room {
			n = lineEndBefore(p.text, floor(p.text, room), slack)
		}
		if n == 0 && i > 0 {
			i, n = i-1, len(ps[i-1].text)
		}
		return ps[:i], piece{text: ps[i].text[:n]}
	}
	return ps, piece{}
}

// takeBack returns as much of the end of ps as fits into room bytes: the end of a
// piece, which does not start with a marker, and the whole pieces after it.
func takeBack(ps []piece, room int) (edge piece, whole []piece) {
	slack := room / 4
	for i := len(ps) - 1; i >= 0; i-- {
		p := ps[i]
		if p.size() <= room {
			room -= p.size()
			continue
		}
		// Reading from the end, the piece's marker comes before its text.
		room = max(room-p.size()+len(p.text), 0)
		n := lineStartAfter(p.text, ceil(p.text, len(p.text)-room), slack)
		if n == len(p.text) {
			return piece{}, ps[i+1:]
		}
		return piece{p.text[n:], p.cut}, ps[i+1:]
	}
	return piece{}, ps
}

// lineEndBefore returns n, or the start of the line that b[:n] ends in, if that
// start is no more than slack bytes before n.
func lineEndBefore(b []byte, n, slack int) int {
	if n < len(b) && b[n] == '\n' {
		return n // the line is whole, and only its line feed is missing
	}
	from := max(n-slack-1, 0)
	if i := bytes.LastIndexByte(b[from:n], '\n'); i >= 0 {
		return from + i + 1
	}
	return n
}

// lineStartAfter returns n, or the start of the next line in b, if that start
// is no more than slack bytes after n.
func lineStartAfter(b []byte, n, slack int) int {
	if n > 0 && b[n-1] == '\n' {
		return n
	}
	if i := bytes.IndexByte(b[n:min(n+slack, len(b))], '\n'); i >= 0 {
		return n + i + 1
	}
	return n
}

// floor returns the last boundary between runes of b that is not after n.
func floor(b []byte, n int) int {
	for n > 0 && n < len(b) && !utf8.RuneStart(b[n]) {
		n--
	}
	return n
}

// ceil returns the first boundary between runes of b that is not before n.
func ceil(b []byte, n int) int {
	for n < len(b) && !utf8.RuneStart(b[n]) {
		n++
	}
	return n
}

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
