package wording

import "unicode/utf8"

// MaxCost is the most bytes that one byte of a text takes in a result.
const MaxCost = len(`\u0000`)

// Len returns how many bytes a text takes in a result. In JSON a line
// end takes two bytes, and a NUL six.
func Len(text string) int {
	n := 0
	for i := 0; i < len(text); {
		size, cost := firstRune(text[i:])
		i += size
		n += cost
	}
	return n
}

// firstRune returns the size of the first rune of a text, and how many bytes
// encode writes for it. The text must not be empty.
func firstRune(text string) (size, cost int) {
	if c := text[0]; c < utf8.RuneSelf {
		return 1, asciiCost(c)
	}
	r, size := utf8.DecodeRuneInString(text)
	return size, runeCost(r, size)
}

// lastRune does the same as firstRune, for the last rune.
func lastRune(text string) (size, cost int) {
	if c := text[len(text)-1]; c < utf8.RuneSelf {
		return 1, asciiCost(c)
	}
	r, size := utf8.DecodeLastRuneInString(text)
	return size, runeCost(r, size)
}

func asciiCost(c byte) int {
	switch {
	case c == '"', c == '\\', '\b' <= c && c <= '\r' && c != '\v':
		return len(`\n`)
	case c < ' ':
		return len(`\u0000`)
	}
	return 1
}

func runeCost(r rune, size int) int {
	// encoding/json escapes the line ends of Unicode, for JavaScript. It
	// writes a byte that is not valid UTF-8 as an escaped U+FFFD.
	if r == '\u2028' || r == '\u2029' || r == utf8.RuneError && size == 1 {
		return len(`\u2028`)
	}
	return size
}

// Prefix returns the length of the longest beginning of a text that takes at
// most room bytes in a result, and how many it takes. It cuts between runes.
func Prefix(text string, room int) (n, cost int) {
	for n < len(text) {
		size, more := firstRune(text[n:])
		if cost+more > room {
			break
		}
		n, cost = n+size, cost+more
	}
	return n, cost
}

// Suffix returns the offset of the longest end of a text that takes at most
// room bytes in a result, and how many it takes. It cuts between runes.
func Suffix(text string, room int) (at, cost int) {
	at = len(text)
	for at > 0 {
		size, more := lastRune(text[:at])
		if cost+more > room {
			break
		}
		at, cost = at-size, cost+more
	}
	return at, cost
}
