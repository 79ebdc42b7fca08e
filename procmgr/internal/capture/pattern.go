package capture

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

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
// no line can match: a wait for that pattern would always last until its time is
// up.
func compilePattern(pattern string) (expression, error) {
	if len(pattern) > maxPattern {
		return expression{}, xerrors.Errorf("the pattern has %d bytes, at most %d are allowed; look for a shorter text: %w", len(pattern), maxPattern, sentinel.ErrInvalid)
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return expression{}, xerrors.Errorf("the pattern %q is no RE2 expression (%s); %s: %w", pattern, complaint(err), patternAdvice(err), sentinel.ErrInvalid)
	}
	parsed = parsed.Simplify()
	prog, err := syntax.Compile(parsed)
	if err != nil {
		return expression{}, xerrors.Errorf("the pattern %q is no RE2 expression (%s): %w", pattern, complaint(err), sentinel.ErrInvalid)
	}
	switch {
	case len(prog.Inst) > maxInstructions:
		return expression{}, xerrors.Errorf("the pattern %q compiles to %d instructions, at most %d are allowed; use smaller repetitions: %w",
			pattern, len(prog.Inst), maxInstructions, sentinel.ErrInvalid)
	case canMatch(prog, false):
	case canMatch(prog, true):
		return expression{}, xerrors.Errorf("the pattern %q can never match: output is searched line by line, and no line has a newline in it; look for the text of one line, such as the last: %w",
			pattern, sentinel.ErrInvalid)
	default:
		return expression{}, xerrors.Errorf(`the pattern %q can never match, whatever is printed; look at its ^, $ and \b, and write \^ and \$ for the characters themselves: %w`,
			pattern, sentinel.ErrInvalid)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return expression{}, xerrors.Errorf("the pattern %q is no RE2 expression (%s): %w", pattern, complaint(err), sentinel.ErrInvalid)
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

// A side is the class of the character just before or just after a position in a
// line. The assertions of a pattern, such as ^, $ and \b, distinguish only these
// classes.
type side int8

const (
	border  side = iota // no character: the line begins or ends here
	word                // an ASCII letter, an ASCII digit or an underscore
	other               // any other character, except a newline
	newline             // a newline; no real line has one
	sides               // the number of classes
)

// runeOf returns one rune of the class, or -1 for border, as
// syntax.EmptyOpContext expects it.
func (s side) runeOf() rune { return [sides]rune{-1, 'a', ' ', '\n'}[s] }

// A spot is an instruction of a program together with a position in a line. Of
// the position it knows only the characters' classes before and after it.
type spot struct {
	pc            uint32
	before, after side
}

// canMatch reports whether a line exists in which a program finds a match. If
// newlines is true, that line may have newlines in it. canMatch visits every spot
// that the program can reach in any line.
func canMatch(prog *syntax.Prog, newlines bool) bool {
	most := newline
	if newlines {
		most = sides
	}
	seen := make(map[spot]bool)
	var todo []spot
	reach := func(pc uint32, before, after side) {
		if at := (spot{pc, before, after}); !seen[at] {
			seen[at] = true
			todo = append(todo, at)
		}
	}
	for before := border; before < most; before++ {
		for after := border; after < most; after++ {
			reach(uint32(prog.Start), before, after)
		}
	}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		switch inst := &prog.Inst[at.pc]; inst.Op {
		case syntax.InstMatch:
			return true
		case syntax.InstAlt, syntax.InstAltMatch:
			reach(inst.Out, at.before, at.after)
			reach(inst.Arg, at.before, at.after)
		case syntax.InstCapture, syntax.InstNop:
			reach(inst.Out, at.before, at.after)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&^syntax.EmptyOpContext(at.before.runeOf(), at.after.runeOf()) == 0 {
				reach(inst.Out, at.before, at.after)
			}
		case syntax.InstFail:
		default: // an instruction that takes a rune
			if !takes(inst, at.after) {
				continue
			}
			for after := border; after < most; after++ {
				reach(inst.Out, at.after, after)
			}
		}
	}
	return false
}

// takes reports whether an instruction takes at least one rune of the class s.
func takes(inst *syntax.Inst, s side) bool {
	if r := inst.Rune; len(r) == 1 && syntax.Flags(inst.Arg)&syntax.FoldCase == 0 {
		return sideOf(r[0]) == s // the usual case
	}
	try := func(r rune) bool { return sideOf(r) == s && inst.MatchRune(r) }
	for r := range rune(utf8.RuneSelf) {
		if try(r) {
			return true
		}
	}
	// Beyond ASCII, a class has its own first and last runes. If the pattern ignores
	// case, k stands for the Kelvin sign too, and s for the long s.
	return slices.ContainsFunc(inst.Rune, try) || try('\u212A') || try('\u017F')
}

// sideOf returns the class of a rune.
func sideOf(r rune) side {
	switch {
	case r == '\n':
		return newline
	case syntax.IsWordChar(r):
		return word
	}
	return other
}
