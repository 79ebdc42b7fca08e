package linedfa

import (
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// classes divide the characters into such that a program does not tell apart.
type classes struct {
	first  []rune     // of each class but the first one
	runes  []rune     // a character of each class
	sides  []side     // of each class, and of the end
	ofByte [256]uint8 // the class of an ASCII character; foreign for a byte of another
	end    int32      // the class of the end of a line
	width  int32      // the number of classes, with that of foreign bytes
}

// maxClasses bounds the number of classes.
const maxClasses = 250

// newClasses returns nil if there are too many.
func newClasses(prog *syntax.Prog) *classes {
	var first []rune
	cut := func(from, to rune) { first = append(first, from, to+1) }
	var asks syntax.EmptyOp
	for i := range prog.Inst {
		switch inst := &prog.Inst[i]; inst.Op {
		case syntax.InstEmptyWidth:
			asks |= syntax.EmptyOp(inst.Arg)
		case syntax.InstRuneAnyNotNL:
			cut('\n', '\n')
		case syntax.InstRune, syntax.InstRune1:
			if len(inst.Rune) == 1 {
				r := inst.Rune[0]
				cut(r, r)
				for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
					cut(other, other)
				}
				continue
			}
			for i := 0; i < len(inst.Rune); i += 2 {
				cut(inst.Rune[i], inst.Rune[i+1])
			}
		}
	}
	words := asks&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0
	lines := asks&(syntax.EmptyBeginLine|syntax.EmptyEndLine) != 0
	if words {
		cut('0', '9')
		cut('A', 'Z')
		cut('_', '_')
		cut('a', 'z')
	}
	if lines {
		cut('\n', '\n')
	}
	slices.Sort(first)
	first = slices.Compact(first)
	first = slices.DeleteFunc(first, func(r rune) bool { return r <= 0 || r > unicode.MaxRune })
	n := len(first) + 1
	if n > maxClasses {
		return nil
	}
	c := &classes{first: first, runes: append([]rune{0}, first...), end: int32(n), width: int32(n) + 2}
	for _, r := range c.runes {
		switch {
		case words && syntax.IsWordChar(r):
			c.sides = append(c.sides, word)
		case lines && r == '\n':
			c.sides = append(c.sides, newline)
		default:
			c.sides = append(c.sides, other)
		}
	}
	c.sides = append(c.sides, border)
	for b := range c.ofByte {
		c.ofByte[b] = uint8(n + 1) // foreign: no step is ever known
		if b < utf8.RuneSelf {
			c.ofByte[b] = uint8(c.of(rune(b)))
		}
	}
	return c
}

// of returns the class of a character.
func (c *classes) of(r rune) int32 {
	i, found := slices.BinarySearch(c.first, r)
	if found {
		i++
	}
	return int32(i)
}

// A side is what an assertion such as ^, $ or \b can tell of a character.
type side uint8

const (
	other side = iota
	word
	newline
	border // no character: the line begins or ends
)

// rune returns one that is such a character, as syntax.EmptyOpContext wants it.
func (s side) rune() rune { return [...]rune{' ', 'a', '\n', -1}[s] }

// allows reports whether assertions can hold behind such a character.
func (s side) allows(op syntax.EmptyOp) bool {
	switch {
	case s == border:
		return true
	case op&syntax.EmptyBeginText != 0:
		return false
	}
	return op&syntax.EmptyBeginLine == 0 || s == newline
}
