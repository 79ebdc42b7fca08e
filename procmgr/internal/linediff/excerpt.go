package linediff

import (
	"strings"
	"unicode/utf8"
)

// Excerpt returns a line as valid UTF-8 of at most most bytes. If the line
// is longer, it returns the part around the byte at index at. A third of the
// room is for the text before that byte, and … marks each end that is left out.
func Excerpt(line []byte, at, most int) string {
	const mark = "…"
	whole := Valid(line)
	if len(whole) <= most {
		return whole
	}
	at = len(Valid(line[:at]))
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

// Valid returns bytes as valid UTF-8. Each invalid byte becomes U+FFFD.
func Valid(b []byte) string {
	return strings.Map(func(r rune) rune { return r }, string(b))
}
