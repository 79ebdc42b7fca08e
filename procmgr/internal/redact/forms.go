package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

// A needle is one form of a value.
type needle struct {
	text  string
	value int  // of Set.names
	lines bool // it may be broken into lines
}

// formsOf returns the forms of a value that are searched for besides the value
// itself, those that may be broken into lines first.
func formsOf(value string) (broken, whole []string) {
	broken = append(broken, hex.EncodeToString([]byte(value)), strings.ToUpper(hex.EncodeToString([]byte(value))))
	for before := range 3 {
		std := base64At(value, before)
		broken = append(broken, std, strings.NewReplacer("+", "-", "/", "_").Replace(std))
	}
	whole = append(whole, percent(value, false), percent(value, true))
	for _, escapeHTML := range []bool{false, true} {
		whole = append(whole, inJSON(value, escapeHTML))
	}
	slices.Sort(broken)
	slices.Sort(whole)
	broken = slices.Compact(broken)
	whole = slices.DeleteFunc(slices.Compact(whole), func(form string) bool { return form == value })
	return broken, whole
}

// base64At returns the characters of base64 that the value alone decides, if so
// many bytes stand before it in its group of three.
func base64At(value string, before int) string {
	encoded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("\x00", before) + value))
	first := [...]int{0, 2, 3}[before]
	return encoded[first : (before+len(value))*8/6]
}

// percent encodes what is not unreserved in a URL, with digits of one case.
func percent(value string, lower bool) string {
	digits := "0123456789ABCDEF"
	if lower {
		digits = "0123456789abcdef"
	}
	var b strings.Builder
	for _, c := range []byte(value) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~", c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteString(string([]byte{'%', digits[c>>4], digits[c&15]}))
		}
	}
	return b.String()
}

// inJSON returns the value as it stands in a JSON string. Some encoders escape <, >
// and & too.
func inJSON(value string, escapeHTML bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(escapeHTML)
	if enc.Encode(value) != nil {
		return value
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(b.String(), "\n"), `"`), `"`)
}
