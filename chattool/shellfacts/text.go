package shellfacts

import (
	"errors"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolproc/toolproc/chattool/internal/shallow"
)

const (
	maxText   = 64 << 10 // bytes of a command
	maxSteps  = 20_000   // statements and words, with those of a function for each of its calls
	maxNested = 20       // texts within texts, and functions within functions
	maxDeep   = 2000     // statements within statements
	maxFacts  = 2000     // programs, and files
	maxWhy    = 10       // reasons
)

// parse parses a command. The reason why is "" unless there is no tree.
func parse(text string, posix bool) (file *syntax.File, why string) {
	if len(text) > maxText {
		return nil, "the command is too long"
	}
	if why := strange(text); why != "" {
		return nil, why
	}
	variant := syntax.LangBash
	if posix {
		variant = syntax.LangPOSIX
	}
	file, err := syntax.NewParser(syntax.Variant(variant), syntax.KeepComments(false)).Parse(shallow.NewReader(text), "")
	switch {
	case errors.Is(err, shallow.ErrTooDeep):
		return nil, "the command is nested too deep"
	case err != nil && nowhereValid(text, err):
		return &syntax.File{}, ""
	case err != nil:
		return nil, "the command could not be read"
	}
	return file, ""
}

// strange returns why a text may not be what it looks like, or what a parser takes it
// for: shells and the parser differ in what they make of such characters.
func strange(text string) string {
	if !utf8.ValidString(text) {
		return "the command is not valid UTF-8"
	}
	for _, r := range text {
		if r != '\n' && r != '\t' && r != ' ' && (r < ' ' || r >= unicode.MaxASCII) && (unicode.IsControl(r) || unicode.IsSpace(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)) {
			return "the command has a control character or a space that is none for the shell"
		}
	}
	if strings.Contains(text, "\\\n") && split().MatchString(text) {
		return "a line goes on in the middle of a word"
	}
	return ""
}

// split matches a line that goes on, unless it ends with a blank: shells and the parser
// read that alike.
var split = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("[^ \t]\\\\\n|#.*\\\\\n|\\\\\n(?:#|\\\\\n)") })

// nowhereValid reports whether every shell refuses a text as a whole: on its only line,
// an operator stands where a command must be.
func nowhereValid(text string, err error) bool {
	var at syntax.ParseError
	if !errors.As(err, &at) || strings.Contains(text, "\n") || !strings.HasSuffix(at.Text, " must be followed by a statement") {
		return false
	}
	rest := text[min(int(at.Pos.Offset()), len(text)):]
	operator := rest[:len(rest)-len(strings.TrimLeft(rest, "&|;) \t"))]
	return len(strings.ReplaceAll(strings.ReplaceAll(operator, " ", ""), "\t", "")) > 2
}
