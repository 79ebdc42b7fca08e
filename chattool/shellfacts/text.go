package shellfacts

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

const (
	maxText   = 64 << 10 // bytes of a command
	maxFrames = 2000     // calls deep that the stack may be when the parser asks for more
	chunk     = 256      // bytes that the parser gets at a time
	maxSteps  = 20_000   // statements and words, with those of a function for each of its calls
	maxNested = 20       // texts within texts, and functions within functions
	maxDeep   = 2000     // statements within statements
	maxFacts  = 2000     // programs, and files
	maxWhy    = 10       // reasons
)

// parse parses a command. The reason why is "" unless there is no tree.
//
// The parser is recursive and has no limit of its own, but only input makes it
// descend. So the reader of the input limits the depth.
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
	file, err := syntax.NewParser(syntax.Variant(variant), syntax.KeepComments(false)).Parse(&shallowReader{rest: text}, "")
	switch {
	case errors.Is(err, errTooDeep):
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
		if r >= ' ' && r < unicode.MaxASCII || r == '\n' || r == '\t' {
			continue
		}
		if unicode.IsControl(r) || unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) {
			return "the command has a control character or a space that is none for the shell"
		}
	}
	// Within a word, a line that goes on is read in several ways. Behind a
	// blank it is a blank.
	for at, rest := 0, text; ; {
		n := strings.Index(rest, "\\\n")
		if n < 0 {
			return ""
		}
		at += n
		line := text[strings.LastIndexByte(text[:at], '\n')+1 : at]
		if at > 0 && text[at-1] != ' ' && text[at-1] != '\t' || strings.Contains(line, "#") || strings.HasPrefix(text[at+2:], "#") || strings.HasPrefix(text[at+2:], "\\\n") {
			return "a line goes on in the middle of a word"
		}
		at += 2
		rest = text[at:]
	}
}

// nowhereValid reports whether every shell refuses a text as a whole: on its only line,
// an operator stands where a command must be.
func nowhereValid(text string, err error) bool {
	var at syntax.ParseError
	if !errors.As(err, &at) || strings.Contains(text, "\n") {
		return false
	}
	op, ok := strings.CutSuffix(at.Text, " must be followed by a statement")
	op = strings.Trim(op, "`")
	if !ok || op != "&&" && op != "||" && op != "|" || int(at.Pos.Offset()) >= len(text) {
		return false
	}
	rest, ok := strings.CutPrefix(text[at.Pos.Offset():], op)
	rest = strings.TrimLeft(rest, " \t")
	return ok && rest != "" && strings.ContainsRune("&|;)", rune(rest[0]))
}

var errTooDeep = errors.New("nested too deep")

// A shallowReader returns a text in chunks, and stops if its caller's stack is too
// deep.
type shallowReader struct {
	rest string
	read bool // the first chunk has been handed out
}

func (r *shallowReader) Read(p []byte) (int, error) {
	// The end comes in a read of its own. If bytes come with it, the parser
	// is off by one in the end of the last word.
	if r.rest == "" {
		return 0, io.EOF
	}
	var deeper [1]uintptr
	if r.read && runtime.Callers(maxFrames, deeper[:]) > 0 {
		return 0, errTooDeep
	}
	r.read = true
	n := copy(p[:min(len(p), chunk)], r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
