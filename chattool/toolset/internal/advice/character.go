package advice

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	// entity matches an HTML entity that a command has in the place of a character.
	entity = regexp.MustCompile(`(^|[^\\])&(amp|lt|gt|quot|apos|nbsp|#\d+|#x[0-9a-fA-F]+);`)
	// typographic matches an option that begins with the wrong dash, or a word that begins
	// with the wrong quote.
	typographic = regexp.MustCompile(`(?m)(?:^|[\s=])([\x{2010}-\x{2015}\x{2212}]+[[:alnum:]]|[\x{2018}-\x{201F}])`)
	// masked matches what the shell does not take for words: quotes, comments, and all
	// behind the first here-document.
	masked = regexp.MustCompile(`(?s)\\.|'[^']*'|"(?:\\.|\$\([^()"]*(?:"[^"]*"[^()"]*)*\)|[^"\\])*"|(?:^|[\s;|(])#[^\n]*|<<[^\n]*\n.*`)
)

// character names a character of the command that is not what it looks like. Quotes, comments
// and here-documents may have any.
func character(r Result) string {
	text := r.Command.Text
	if r.Reading && !r.failed() || !suspicious(text) {
		return ""
	}
	text = masked.ReplaceAllStringFunc(text, func(part string) string {
		if line, _, ok := strings.Cut(part, "\n"); ok && strings.HasPrefix(part, "<<") {
			return line
		}
		return "_"
	})
	if m := entity.FindString(text); m != "" {
		return "The command has the HTML entity " + m[strings.IndexByte(m, '&'):] + " and not the character that it stands for: write the character itself."
	}
	if i := strings.IndexByte(text, '\r'); i >= 0 && !r.onWindows() {
		return fmt.Sprintf("The command has carriage returns (CR, U+000D) at the ends of its lines: the shell takes each for a part of the last word, as in %s, and a file may have such a name. Write line ends as LF alone.", wordAt(text, i))
	}
	if i := invisibleIn(text); i >= 0 {
		return nameCharacter(text, i, "the shell does not take it for a space, but for a part of the word. Leave it out, or write a plain space.")
	}
	if m := typographic.FindStringSubmatchIndex(text); m != nil && r.failed() {
		return nameCharacter(text, m[2], "to the shell it is a letter like any other. Write the ASCII character.")
	}
	return ""
}

// suspicious reports whether a command may have a character that is not what it looks
// like. Nearly none has.
func suspicious(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf || text[i] == '\r' {
			return true
		}
	}
	return strings.IndexByte(text, '&') >= 0 && entity.MatchString(text)
}

// invisibleIn returns the offset of the first character that is a space other than
// ASCII's, or shows nothing, or -1. Emoji and some scripts need joiners.
func invisibleIn(text string) int {
	before := ' '
	for i, c := range text {
		joins := (c == '\u200C' || c == '\u200D') && before >= utf8.RuneSelf
		if c >= utf8.RuneSelf && unicode.In(c, unicode.Zs, unicode.Cf) && !joins {
			return i
		}
		before = c
	}
	return -1
}

// nameCharacter returns the note on the character at an offset. harm says what comes of it.
func nameCharacter(text string, at int, harm string) string {
	c, _ := utf8.DecodeRuneInString(text[at:])
	kind := "typographic"
	if unicode.In(c, unicode.Zs, unicode.Cf) {
		kind = "invisible"
	}
	return fmt.Sprintf("The command has the %s character %U in %s: %s", kind, c, wordAt(text, at), harm)
}

// wordAt returns the word around an offset, with all that is not ASCII escaped.
func wordAt(text string, at int) string {
	from := max(strings.LastIndexAny(text[:at], " \t\n")+1, at-maxQuoted)
	to := at + maxQuoted
	if i := strings.IndexAny(text[at:], " \t\n"); i >= 0 {
		to = at + i
	}
	return strconv.QuoteToASCII(strings.ToValidUTF8(text[from:min(to, len(text))], ""))
}
