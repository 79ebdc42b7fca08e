package capture

import (
	"strings"
	"unicode/utf8"
)

// A Found is the line that a pattern has matched.
type Found struct {
	Line   string // valid UTF-8; if it is long, the part around the match
	Offset int64  // the offset of the line's beginning
}

// QuoteAround returns a line as valid UTF-8 of at most most bytes. If the line
// is longer, it returns the part around the byte at index at. A third of the
// room is for the text before that byte, and … marks each end that is left out.
func QuoteAround(line []byte, at, most int) string {
	const mark = "…"
	whole := validText(line)
	if len(whole) <= most {
		return whole
	}
	at = len(validText(line[:at]))
	room := most - 2*len(mark)
	begin := min(max(at-room/3, 0), len(whole)-room)
	for begin < len(whole) && !utf8.RuneStart(whole[begin]) {
		begin++
	}
	end := min(begin+room, len(whole))
	for end < len(whole) && !utf8.RuneStart(whole[end]) {
		end--
	}
	quote := whole[begin:end]
	if begin > 0 {
		quote = mark + quote
	}
	if end < len(whole) {
		quote += mark
	}
	return quote
}

// validText returns bytes as valid UTF-8. Each invalid byte becomes U+FFFD.
func validText(b []byte) string {
	return strings.Map(func(r rune) rune { return r }, string(b))
}
