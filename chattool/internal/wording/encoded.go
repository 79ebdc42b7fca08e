package wording

import "unicode/utf8"

// MaxCost is the most bytes that one byte of a text takes in a result.
const MaxCost = len(`\u0000`)

// Len returns how many bytes a text takes in a result. In JSON a line
// end takes two bytes, and a NUL six.
func Len(text string) int {
	_, cost := prefix(text, len(text)*MaxCost)
	return cost
}

// prefix returns the length of the longest beginning of a text that takes at
// most room bytes in a result, and how many it takes. It cuts between runes.
func prefix(text string, room int) (n, cost int) {
	for n < len(text) {
		size, more := 1, 1
		switch c := text[n]; {
		case c >= utf8.RuneSelf:
			var r rune
			r, size = utf8.DecodeRuneInString(text[n:])
			// encoding/json escapes the line ends of Unicode, for JavaScript. It
			// writes a byte that is not valid UTF-8 as an escaped U+FFFD.
			if more = size; r == '\u2028' || r == '\u2029' || r == utf8.RuneError && size == 1 {
				more = MaxCost
			}
		case c == '"', c == '\\', '\b' <= c && c <= '\r' && c != '\v':
			more = len(`\n`)
		case c < ' ':
			more = MaxCost
		}
		if cost+more > room {
			break
		}
		n, cost = n+size, cost+more
	}
	return n, cost
}
