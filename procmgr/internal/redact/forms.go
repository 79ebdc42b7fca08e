package redact

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// base64AndHex returns the forms of a value that may be broken into lines.
func base64AndHex(value string) (forms []string) {
	forms = append(forms, hex.EncodeToString([]byte(value)), strings.ToUpper(hex.EncodeToString([]byte(value))))
	for before := range 3 {
		std := base64At(value, before)
		forms = append(forms, std, strings.NewReplacer("+", "-", "/", "_").Replace(std))
	}
	slices.Sort(forms)
	return slices.Compact(forms)
}

// base64At returns the characters of base64 that the value alone decides, if so
// many bytes stand before it in its group of three.
func base64At(value string, before int) string {
	encoded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("\x00", before) + value))
	first := [...]int{0, 2, 3}[before]
	return encoded[first : (before+len(value))*8/6]
}

// encodings returns the ways in which each character of a value may stand in a URL, in
// JSON, in JSON within JSON, and in a shell's quotes. Each tool has its own list of the
// characters that it encodes, so any of them may be, but no letter and no digit is.
func encodings(value string) (chars [][]string) {
	for len(value) > 0 {
		r, size := utf8.DecodeRuneInString(value)
		char := value[:size]
		value = value[size:]
		ways := []string{char}
		if !isAlnum(char[0]) {
			ways = encodingsOf(char, r)
		}
		chars = append(chars, ways)
	}
	return chars
}

func encodingsOf(char string, r rune) []string {
	ways := []string{char}
	escaped := []string{`\` + char}
	for _, digits := range []string{"%02x", "%02X"} {
		percent, x := "", ""
		for _, b := range []byte(char) {
			percent += "%" + fmt.Sprintf(digits, b)
			x += `\x` + fmt.Sprintf(digits, b)
		}
		ways, escaped = append(ways, percent), append(escaped, x)
		u := ""
		for _, unit := range utf16.Encode([]rune{r}) {
			u += `\u` + fmt.Sprintf(strings.Replace(digits, "2", "4", 1), unit)
		}
		escaped = append(escaped, u)
	}
	octal := ""
	for _, b := range []byte(char) {
		octal += fmt.Sprintf(`\%03o`, b)
	}
	escaped = append(escaped, octal)
	if i := strings.Index("\a\b\t\n\v\f\r\x1b", char); i >= 0 {
		escaped = append(escaped, `\`+"abtnvfrE"[i:i+1])
	}
	for _, once := range escaped {
		ways = append(ways, once, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(once),
			strings.NewReplacer(`\`, `\\`, char, `\`+char).Replace(once)) // \\\/
	}
	switch char {
	case " ":
		ways = append(ways, "+")
	case "'": // 'it'\''s', 'it'"'"'s' and 'it'"''"'s twice'
		for _, before := range []string{"", "'", `'"`, `"`, `'\`} {
			for _, behind := range []string{"", "'", `"'`, `"`} {
				ways = append(ways, before+char+behind)
			}
		}
	}
	slices.Sort(ways)
	return slices.Compact(ways)
}

func isAlnum(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
}

// longestRun returns where the most letters and digits in a row stand among characters,
// and how many they are.
func longestRun(chars [][]string) (at, n int) {
	run := 0
	for i, ways := range chars {
		if run++; !isAlnum(ways[0][0]) || len(ways) > 1 {
			run = 0
		}
		if run > n {
			at, n = i+1-run, run
		}
	}
	return at, n
}
