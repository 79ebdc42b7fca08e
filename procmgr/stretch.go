package procmgr

import (
	"strings"
	"unicode/utf8"
)

// holeText is how a text shows an invalid byte.
const holeText = "\uFFFD"

// unknown is the width of a U+FFFD that is not known.
const unknown = 0

const (
	// maxProbes is how many times a follower asks for the width of a U+FFFD
	// before it yields the text so far.
	maxProbes = 64
	// maxTries is how many times it asks for the same one. Then it leaves it
	// out.
	maxTries = 8
)

// A stretch is a part of a stream as text, without a gap. A U+FFFD in it is an
// invalid byte, or it was printed as it is and has three bytes.
type stretch struct {
	text string
	from int64 // the offset at which it begins
	to   int64 // the offset at which it ends
	hole int64 // how many bytes of the stream each U+FFFD of text is: 1, 3 or unknown
}

// firstStretch returns the text of an answer that was read from an offset on: as
// far as the first bytes that it leaves out, or the rest if it leaves out those
// at the offset itself. live is the line that is being redrawn.
func firstStretch(out Output, from int64) (s stretch, live string) {
	end := len(strings.TrimSuffix(out.Text, out.Live))
	text, live := out.Text[:end], out.Text[end:]
	switch {
	case text == "":
		return stretch{from: out.Next, to: out.Next}, live
	case out.Truncated == nil || out.Truncated.OmittedBytes == 0:
		return newStretch(text, from, out.Next), live
	}
	// The manager says where the markers are: a program can print text that looks like
	// one.
	at := 0 // in text
	for _, cut := range out.Truncated.Cuts {
		switch {
		case cut.At < at || cut.Len < 0: // not as this package writes it
		case cut.At+cut.Len > end:
			return newStretch(text[at:], from, out.Next), live // what follows is cut in the live line alone
		case cut.At > at:
			return newStretch(text[at:cut.At], from, cut.From), live
		default:
			at, from = cut.At+cut.Len, cut.To
		}
	}
	if len(out.Truncated.Cuts) == 0 {
		from += min(out.Truncated.OmittedBytes, out.Next-from) // nobody says where they are missing
	}
	return newStretch(text[at:], from, out.Next), live
}

// newStretch returns a stretch whose ends are known.
func newStretch(text string, from, to int64) stretch {
	return stretch{text: text, from: from, to: to, hole: widthOf(text, to-from)}
}

// widthOf returns how many bytes of the stream each U+FFFD of a text is, if the
// text is n bytes of the stream.
func widthOf(text string, n int64) int64 {
	switch holes := int64(strings.Count(text, holeText)); int64(len(text)) - n {
	case 0:
		return 3
	case 2 * holes:
		return 1
	}
	return unknown
}

// end returns the offset at which the first bytes of the text end. The widths of
// the U+FFFD in it must be known.
func (s stretch) end(first string) int64 {
	n := int64(len(first))
	if holes := int64(strings.Count(first, holeText)); holes > 0 {
		n -= (3 - s.hole) * holes
	}
	return s.from + n
}

// take returns the beginning of the text, of at most n bytes, and the rest. It
// stops before a U+FFFD whose width is unknown.
func (s stretch) take(n int) (text string, rest stretch) {
	text = s.text
	if len(text) > n {
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		text = text[:n]
	}
	if s.hole == unknown {
		text, _, _ = strings.Cut(text, holeText)
	}
	// An end beyond that of the stretch is of a text that is not as this package writes it.
	return text, s.behind(len(text), min(s.end(text), s.to))
}

// behind returns the stretch behind the first n bytes of the text, which end at
// an offset.
func (s stretch) behind(n int, from int64) stretch {
	if s.hole != unknown {
		return stretch{text: s.text[n:], from: from, to: s.to, hole: s.hole}
	}
	return newStretch(s.text[n:], from, s.to)
}

// behindHole returns the stretch behind the U+FFFD with which it begins.
func (s stretch) behindHole(width int64) stretch { return s.behind(len(holeText), s.from+width) }

// behindUnknown returns the stretch behind its last U+FFFD. Where that begins is known
// from its end.
func (s stretch) behindUnknown() stretch {
	text := s.text[strings.LastIndex(s.text, holeText)+len(holeText):]
	return stretch{text: text, from: max(s.from, s.to-int64(len(text))), to: s.to, hole: 3}
}

// beginsUnknown reports whether a stretch begins with a U+FFFD whose width is
// unknown.
func (s stretch) beginsUnknown() bool {
	return s.hole == unknown && strings.HasPrefix(s.text, holeText)
}
