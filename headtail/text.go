package headtail

import (
	"math"
	"slices"
)

const (
	DefaultTextLimit = 32 << 10 // bytes that Text returns at most
	DefaultLineLimit = 2048     // bytes of one line that Text returns at most
)

const (
	// minLine is the least that a line is cut to: what its marker can take,
	// and enough of both its ends to recognize it.
	minLine = 64
	// minAround is the least that must remain for the stream itself where
	// its middle is cut; a marker that leaves less gives way.
	minAround = 16
	// strategy names the only way of truncating that there is, for those
	// who read a Truncation as JSON.
	strategy = "head_tail"
)

// Limits bounds what [Snapshot.Text] returns, in bytes of the text.
// Of each field, 0 is the default and a negative number is no limit.
type Limits struct {
	Bytes int `json:"bytes,omitempty"` // the whole text, markers included; 0: DefaultTextLimit
	Line  int `json:"line,omitempty"`  // one line, marker included, line end not; 0: DefaultLineLimit; under 64 is 64
}

// A Truncation tells what a text leaves out, in bytes of the stream.
// OriginalBytes == RetainedBytes + OmittedBytes; markers are counted in none.
type Truncation struct {
	OriginalBytes  int64  `json:"original_bytes"`            // Total - From of the Snapshot
	RetainedBytes  int64  `json:"retained_bytes"`            // of those, what is in the text
	OmittedBytes   int64  `json:"omitted_bytes"`             // of those, what is not
	TruncatedLines int    `json:"truncated_lines,omitempty"` // lines in the text that miss their middle
	Strategy       string `json:"strategy"`                  // "head_tail"
}

// Text returns the Snapshot as valid UTF-8 of at most l.Bytes bytes, and what
// had to be left out for that; nil if nothing was.
//
// What fits comes back byte for byte, except that each invalid byte becomes
// U+FFFD (three bytes, and they count). Long lines are left alone while there is
// room for them. Where the Snapshot has a gap,
//
//	\n\n... [omitted 80 bytes] ...\n\n
//
// stands in its place (each \n a line feed). Where the text would exceed l.Bytes,
// the first of these that suffices is done:
//
//  1. Every line longer than l.Line is cut in its middle to at most l.Line
//     bytes, and " ... [omitted 80 bytes] ... " stands there. The ends of a line
//     stay, also of a last line that has not ended.
//  2. The middle of the text is cut: around the gap if there is one, so that
//     there is only ever one such marker, and its number is all that is
//     missing there. Beginning and end get half of the room each, or more where
//     the other needs less. The cut is moved outwards to a line end where that
//     costs no more than a quarter of that side's room.
//  3. Where that marker would leave fewer than 16 bytes for the stream, the text
//     is the last retained bytes alone (those behind the gap, if any are), without
//     a marker, as many whole runes as fit; only the Truncation tells then.
//
// The numbers in the markers add up to OmittedBytes, except in the third case.
// Cuts fall between runes, and no two markers stand side by side.
func (s Snapshot) Text(l Limits) (string, *Truncation) {
	limit, line := l.resolve()
	front, back, gap := s.Head, s.Tail, max(s.Gap, 0)
	original := int64(len(front)) + gap + int64(len(back))
	if gap == 0 && len(back) > 0 {
		front, back = slices.Concat(front, back), nil
	}
	front, back, escaped := escape(front, back)

	size := len(front) + len(back)
	if gap > 0 {
		size += gapMarker.size(gap)
	}
	w := writer{escaped: escaped}
	if size <= limit {
		if gap == 0 {
			return w.all(front), nil
		}
		w.Grow(size)
		w.text(front)
		w.marker(gapMarker, gap)
		w.text(back)
		return w.truncated(original)
	}

	// Arrays on the stack do for most texts, which have few long lines.
	var a, z [4]piece
	frontPieces := cutLines(a[:0], front, line, escaped)
	backPieces := frontPieces
	size = sizeOf(frontPieces)
	if gap > 0 {
		backPieces = cutLines(z[:0], back, line, escaped)
		size += gapMarker.size(gap) + sizeOf(backPieces)
	}
	if size <= limit {
		w.Grow(size)
		w.pieces(frontPieces)
		if gap > 0 {
			w.marker(gapMarker, gap)
			w.pieces(backPieces)
		}
		return w.truncated(original)
	}

	// How much will be missing is known only after the cut; that it is no
	// more than everything bounds the length of the marker.
	room := limit - gapMarker.size(original)
	if room < minAround {
		last := front
		if len(back) > 0 {
			last = back // never joined to front without a marker between
		}
		w.text(last[ceil(last, len(last)-min(limit, len(last))):])
		return w.truncated(original)
	}
	half := room / 2
	if gap > 0 {
		half = max(half, room-sizeOf(backPieces))
	}
	begin := takeFront(frontPieces, half)
	end := takeBack(backPieces, room-begin.size())
	w.Grow(limit)
	w.part(begin)
	w.marker(gapMarker, original-begin.covers(escaped)-end.covers(escaped))
	w.part(end)
	return w.truncated(original)
}

// resolve returns the limits with the defaults put in.
func (l Limits) resolve() (limit, line int) {
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
