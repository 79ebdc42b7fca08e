package wording

import (
	"encoding/json"
	"strings"
)

// Encode returns one JSON object on one line. It does not escape < and &,
// because models read them better so, and the text is not for a web page.
func Encode(v any) string {
	var b strings.Builder // whose String is no copy
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		// v has strings and numbers alone, so this cannot be reached.
		return `{"success":false,"error":"the result could not be encoded"}`
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Sentences writes notes one after the other.
func Sentences(notes []string) string {
	var b strings.Builder
	for i, note := range notes {
		if i == len(notes)-1 {
			b.WriteString(note)
		} else {
			b.WriteString(Sentence(note) + " ")
		}
	}
	return b.String()
}

// maxNames is how many names a note has.
const maxNames = 5

// Masked tells of values that are masked in a result. It is "" if there are none.
func Masked(names []string) string {
	shown := make([]string, 0, maxNames)
	for _, name := range names[:min(len(names), maxNames)] {
		shown = append(shown, Odd(name))
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return "The value of " + shown[0] + " is masked in the output, not in files: commands see what is really there."
	}
	list := strings.Join(shown, ", ")
	if len(names) > maxNames {
		list += " and others"
	}
	return "The values of " + list + " are masked in the output, not in files: commands see what is really there."
}
