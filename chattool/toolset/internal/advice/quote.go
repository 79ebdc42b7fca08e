package advice

import (
	"strconv"
	"strings"
	"unicode"
)

// Odd returns a path or a name as it is if it could be nothing else. If it has a
// space, a quote or another character by which it could look like words of the
// sentence around it, Odd quotes it.
func Odd(text string) string {
	odd := func(r rune) bool {
		return r == unicode.ReplacementChar || !unicode.IsGraphic(r) || unicode.IsSpace(r) || strings.ContainsRune("\"'`();", r)
	}
	if text == "" || strings.ContainsFunc(text, odd) {
		return strconv.Quote(text)
	}
	return text
}

// quoted returns a part of a command between backquotes, or quoted if that is not
// clear.
func quoted(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return r == '`' || !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return "`" + text + "`"
}
