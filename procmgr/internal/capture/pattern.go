package capture

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

const (
	maxPattern      = 256  // a pattern has at most this many bytes
	maxInstructions = 1000 // a pattern compiles to at most this many instructions
)

// An expression is a pattern that was compiled.
type expression struct {
	re       *regexp.Regexp
	literals literals // of the lines that re may match
}

// compilePattern compiles a pattern that is matched against single lines. It
// refuses a pattern that is too long or too large. It also refuses a pattern that
// wants a newline, or a character behind a $: a wait for it would always last until its
// time is up.
func compilePattern(pattern string) (expression, error) {
	if len(pattern) > maxPattern {
		return expression{}, xerrors.Errorf("the pattern has %d bytes, at most %d are allowed; look for a shorter text: %w", len(pattern), maxPattern, sentinel.ErrInvalid)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		what := err.Error()
		if wrong, ok := errors.AsType[*syntax.Error](err); ok { // its text may have a line end
			what = fmt.Sprintf("%s: %#q", wrong.Code, wrong.Expr)
		}
		return expression{}, xerrors.Errorf("the pattern %q is no RE2 expression (%s); RE2 has no look-around and no backreferences, and a backslash before a punctuation mark stands for the mark: %w",
			pattern, what, sentinel.ErrInvalid)
	}
	parsed, _ := syntax.Parse(pattern, syntax.Perl) // as package regexp has
	parsed = parsed.Simplify()
	prog, _ := syntax.Compile(parsed)
	switch {
	case len(prog.Inst) > maxInstructions:
		return expression{}, xerrors.Errorf("the pattern %q compiles to %d instructions, at most %d are allowed; use smaller repetitions: %w",
			pattern, len(prog.Inst), maxInstructions, sentinel.ErrInvalid)
	case wantsMore(parsed):
		return expression{}, xerrors.Errorf(`the pattern %q can never match: output is searched line by line, and it wants a newline, or text behind a $; look for the text of one line, and write \$ for the character itself: %w`,
			pattern, sentinel.ErrInvalid)
	}
	return expression{re: re, literals: newLiterals(parsed)}, nil
}

// wantsMore reports whether each match of a simplified expression has more than a line:
// a newline, or a character behind a $.
func wantsMore(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral:
		return slices.Contains(re.Rune, '\n')
	case syntax.OpCharClass:
		return slices.Equal(re.Rune, []rune{'\n', '\n'})
	case syntax.OpConcat:
		ended := false
		for _, sub := range re.Sub {
			if wantsMore(sub) || ended && isCharacter(sub) {
				return true
			}
			ended = ended || ends(sub)
		}
	case syntax.OpCapture, syntax.OpPlus:
		return wantsMore(re.Sub[0])
	case syntax.OpAlternate:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !wantsMore(sub) })
	}
	return false
}

// ends reports whether each match of an expression ends with a $.
func ends(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpEndText, syntax.OpEndLine:
		return true
	case syntax.OpCapture, syntax.OpConcat:
		return ends(re.Sub[len(re.Sub)-1])
	}
	return false
}

// isCharacter reports whether each match of an expression begins with a character.
func isCharacter(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpCapture, syntax.OpPlus, syntax.OpConcat:
		return isCharacter(re.Sub[0])
	case syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return true
	}
	return false
}
