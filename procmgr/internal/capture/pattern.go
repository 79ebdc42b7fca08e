package capture

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

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
// refuses a pattern that is too long or too large. It also refuses a pattern that,
// for its newlines, ^ and $, no line can match: a wait for that pattern would always
// last until its time is up.
func compilePattern(pattern string) (expression, error) {
	if len(pattern) > maxPattern {
		return expression{}, xerrors.Errorf("the pattern has %d bytes, at most %d are allowed; look for a shorter text: %w", len(pattern), maxPattern, sentinel.ErrInvalid)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return expression{}, xerrors.Errorf("the pattern %q is no RE2 expression (%s); %s: %w", pattern, complaint(err), patternAdvice(err), sentinel.ErrInvalid)
	}
	parsed, _ := syntax.Parse(pattern, syntax.Perl) // as package regexp has
	parsed = parsed.Simplify()
	prog, _ := syntax.Compile(parsed)
	switch {
	case len(prog.Inst) > maxInstructions:
		return expression{}, xerrors.Errorf("the pattern %q compiles to %d instructions, at most %d are allowed; use smaller repetitions: %w",
			pattern, len(prog.Inst), maxInstructions, sentinel.ErrInvalid)
	case !canMatch(prog):
		return expression{}, xerrors.Errorf(`the pattern %q can never match: output is searched line by line, so no newline is found, and nothing before ^ or behind $; look for the text of one line, and write \^ and \$ for the characters themselves: %w`,
			pattern, sentinel.ErrInvalid)
	}
	return expression{re: re, literals: newLiterals(parsed)}, nil
}

// complaint returns what package regexp says of a pattern. It puts a part of the
// pattern between backquotes, and so the part is quoted instead if it has one, or
// a line end.
func complaint(err error) string {
	var e *syntax.Error
	if errors.As(err, &e) && !strconv.CanBackquote(e.Expr) {
		return "error parsing regexp: " + e.Code.String() + ": " + strconv.Quote(e.Expr)
	}
	return err.Error()
}

// patternAdvice returns the advice for a pattern that RE2 cannot parse: the
// syntax to use instead.
func patternAdvice(err error) string {
	var e *syntax.Error
	if !errors.As(err, &e) {
		return "look for plain text"
	}
	begins := func(prefixes ...string) bool {
		for _, prefix := range prefixes {
			if strings.HasPrefix(e.Expr, prefix) {
				return true
			}
		}
		return false
	}
	switch {
	case begins("(?=", "(?<="):
		return "RE2 has no look-around: write what stands before and behind as part of the pattern, as in done.*in [0-9]+ s"
	case begins("(?!", "(?<!"):
		return "RE2 has no look-around, and cannot say what must not be there: look for what the wanted line has and others have not"
	case begins("(?"):
		return "RE2 has (?:…) and (?P<name>…) for groups, and the flags (?i), (?m), (?s) and (?U)"
	case e.Code == syntax.ErrInvalidEscape:
		return `RE2 has no such escape, nor backreferences: it has \d \w \s \b \A \z and their capitals, and a backslash before a punctuation mark stands for the mark`
	case e.Code == syntax.ErrInvalidRepeatOp:
		return "RE2 has no possessive repetition, and one repetition cannot follow another: write one of * + ? *? +?"
	case e.Code == syntax.ErrMissingRepeatArgument:
		return `in RE2 .* is any text, and \* is a star`
	}
	return "escape special characters with a backslash"
}

// A spot is an instruction of a program at a position in a line.
type spot struct {
	pc     uint32
	inside bool // a character stands before the position
	ended  bool // none may follow
}

// canMatch reports whether a line may exist in which a program finds a match. It takes
// it for granted that a \b and a \B hold.
func canMatch(prog *syntax.Prog) bool {
	seen := make(map[spot]bool)
	var from func(pc uint32, inside, ended bool) bool
	from = func(pc uint32, inside, ended bool) bool {
		at := spot{pc, inside, ended}
		if seen[at] {
			return false
		}
		seen[at] = true
		switch inst := &prog.Inst[pc]; inst.Op {
		case syntax.InstMatch:
			return true
		case syntax.InstAlt, syntax.InstAltMatch:
			return from(inst.Out, inside, ended) || from(inst.Arg, inside, ended)
		case syntax.InstCapture, syntax.InstNop:
			return from(inst.Out, inside, ended)
		case syntax.InstEmptyWidth:
			op := syntax.EmptyOp(inst.Arg)
			begins, ends := op&(syntax.EmptyBeginText|syntax.EmptyBeginLine) != 0, op&(syntax.EmptyEndText|syntax.EmptyEndLine) != 0
			return !(begins && inside) && from(inst.Out, inside, ended || ends)
		case syntax.InstFail:
			return false
		}
		return !ended && takes(prog.Inst[pc]) && from(prog.Inst[pc].Out, true, false)
	}
	return from(uint32(prog.Start), false, false) || from(uint32(prog.Start), true, false)
}

// takes reports whether an instruction takes a rune besides a newline.
func takes(inst syntax.Inst) bool {
	switch {
	case inst.Op == syntax.InstRuneAny, inst.Op == syntax.InstRuneAnyNotNL:
		return true
	case len(inst.Rune) == 1:
		return inst.Rune[0] != '\n'
	}
	return slices.ContainsFunc(inst.Rune, func(r rune) bool { return r != '\n' }) // a range
}
