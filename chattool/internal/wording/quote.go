package wording

import (
	"strconv"
	"strings"
	"unicode"
)

// MaxWords is how much of an error a result quotes, in bytes of the result.
const MaxWords = 2000

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

// Quote quotes a command or a line of output, at most most bytes of it. A
// quote, a line end or a control character in it is escaped, so that no text of a
// model or a program can look like words of ours, or like another line of a
// result.
func Quote(line string, most int) string {
	cost := 0
	for i, r := range line {
		if cost += Len(strconv.Quote(string(r))) - Len(`""`); cost > most {
			return strconv.Quote(line[:i] + "…")
		}
	}
	return strconv.Quote(line)
}

// Clip shortens s so that it takes at most n bytes in a result. It cuts between
// runes, and marks the cut with an ellipsis.
func Clip(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n/MaxCost || Len(s) <= n {
		return s
	}
	short, _ := prefix(s, n-len("…"))
	return s[:short] + "…"
}

// OneLine returns a text as valid UTF-8 without line ends and controls: each of
// them becomes an escape sequence, as Go writes it in a string.
func OneLine(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if !strings.ContainsFunc(text, breaks) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if breaks(r) {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// breaks reports whether a rune could end a line, or move what follows.
func breaks(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp) || unicode.Is(unicode.Bidi_Control, r)
}

// Sentence ends words with a full stop if they have no end, so that another
// sentence can follow.
func Sentence(words string) string {
	if strings.HasSuffix(words, ".") || strings.HasSuffix(words, "?") || strings.HasSuffix(words, "!") {
		return words
	}
	return words + "."
}
