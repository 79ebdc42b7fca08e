package advice

import (
	"strconv"
	"strings"
	"unicode"
)

// quoted returns a part of a command between backquotes, or quoted if that is not
// clear.
func quoted(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return r == '`' || !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return "`" + text + "`"
}
