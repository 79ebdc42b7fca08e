package headtail

import (
	"math"
	"slices"
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
