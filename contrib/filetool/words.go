package filetool

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
)

// maxWords is how much of an error a result quotes, in bytes.
const maxWords = 2000

// clip shortens an error.
func clip(words string) string {
	words = strings.ToValidUTF8(words, "\uFFFD")
	if len(words) > maxWords {
		words = strings.ToValidUTF8(words[:maxWords], "") + "…"
	}
	return words
}

// oneLine returns a text without line ends and controls: each of them becomes an escape
// sequence, so that a name cannot look like another line of a result.
func oneLine(text string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		if unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp) || unicode.Is(unicode.Bidi_Control, r) {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// sentence ends words with a full stop if they have no end, so that another sentence can
// follow.
func sentence(words string) string {
	if words == "" || strings.ContainsAny(words[len(words)-1:], ".?!") {
		return words
	}
	return words + "."
}

// sentences writes notes one after the other.
func sentences(notes []string) string {
	var b strings.Builder
	for _, note := range notes[:max(len(notes)-1, 0)] {
		b.WriteString(sentence(note) + " ")
	}
	return b.String() + strings.Join(notes[max(len(notes)-1, 0):], "")
}

// counted writes a number with its noun.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// grouped writes a number with a comma before each three digits.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// masked tells of values that are masked in a result. It is "" if there are none.
func masked(names []string) string {
	switch n := len(names); {
	case n == 0:
		return ""
	case n == 1:
		return "The value of " + oneLine(names[0]) + " is masked in the output, not in files: commands see what is really there."
	case n > mostNamed:
		names = append(names[:mostNamed:mostNamed], "others")
	}
	return "The values of " + oneLine(strings.Join(names, ", ")) + " are masked in the output, not in files: commands see what is really there."
}

// encode returns one JSON object on one line, in which < and & stay as they are: it is for
// a model and not for a web page.
func encode(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return `{"success":false,"error":"the result could not be encoded"}` // it has texts and numbers alone
	}
	return strings.TrimSuffix(b.String(), "\n")
}
