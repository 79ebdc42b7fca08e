package prefilter

import (
	"math"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	mostStrings = 128 // of a set of required strings
	mostRunes   = 16  // of a class of characters that counts as a set of strings
)

// A set has strings. If folds is true in the extractor, the ASCII letters in
// them are small, and stand for both cases. A string may have marks.
type set []string

// These bytes are in no UTF-8. In a string of a set they mark a place.
const (
	lineMark = "\xfe" // a line begins
	wordMark = "\xff" // a word begins or ends
)

// unmarked takes the marks out of a string.
var unmarked = strings.NewReplacer(lineMark, "", wordMark, "").Replace

// facts hold for all matches of a part of an expression.
type facts struct {
	exact    set // if not nil: every match is one of these strings
	required set // if not nil: every match contains one of these strings
}

// An extractor finds the required strings of an expression.
type extractor struct {
	folds bool // letters stand for both cases
}

// required returns a set of strings of which every match of the expression
// contains one, or nil if it finds none that helps. folds reports whether the
// ASCII letters in the strings are small and stand for both cases. The
// expression is simplified: it has no counted repetitions.
func required(re *syntax.Regexp) (all set, folds bool) {
	e := &extractor{folds: ignoresCase(re)}
	f := e.facts(re)
	return better(f.required, f.exact), e.folds
}

// ignoresCase reports whether a literal of the expression ignores case.
func ignoresCase(re *syntax.Regexp) bool {
	return re.Op == syntax.OpLiteral && re.Flags&syntax.FoldCase != 0 || slices.ContainsFunc(re.Sub, ignoresCase)
}

func (e *extractor) facts(re *syntax.Regexp) facts {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpEndLine, syntax.OpEndText, syntax.OpNoWordBoundary:
		return facts{exact: set{""}}
	case syntax.OpBeginLine, syntax.OpBeginText:
		return facts{exact: set{lineMark}}
	case syntax.OpWordBoundary:
		return facts{exact: set{wordMark}}
	case syntax.OpLiteral:
		var c chain
		for _, r := range re.Rune {
			c.then(facts{exact: e.spellings(r, re.Flags&syntax.FoldCase != 0)})
		}
		return c.facts()
	case syntax.OpCharClass:
		return facts{exact: e.class(re.Rune)}
	case syntax.OpCapture:
		return e.facts(re.Sub[0])
	case syntax.OpConcat:
		var c chain
		for _, sub := range re.Sub {
			f := e.facts(sub)
			if sub.Op == syntax.OpPlus {
				// It begins with a match of its operand, and ends with one.
				once := e.facts(sub.Sub[0])
				c.then(once)
				c.cut()
				f = once
			}
			c.then(f)
		}
		return c.facts()
	case syntax.OpAlternate:
		return e.alternatives(re.Sub)
	case syntax.OpPlus:
		f := e.facts(re.Sub[0])
		return facts{required: better(f.required, f.exact)}
	case syntax.OpQuest:
		if f := e.facts(re.Sub[0]); f.exact != nil && len(f.exact) < mostStrings {
			return facts{exact: append(slices.Clone(f.exact), "")}
		}
	}
	return facts{}
}

// alternatives returns the facts of an expression that matches if one of subs
// does.
func (e *extractor) alternatives(subs []*syntax.Regexp) facts {
	exact, required := set{}, set{}
	for _, sub := range subs {
		f := e.facts(sub)
		if exact != nil && f.exact != nil {
			exact = append(exact, f.exact...)
		} else {
			exact = nil
		}
		if one := better(f.required, f.exact); required != nil && one != nil {
			required = append(required, one...)
		} else {
			required = nil
		}
	}
	return facts{exact: bounded(exact), required: bounded(required)}
}

// spellings returns the bytes that match one character, or nil if that can be
// any byte. If folds is true, the character's other cases match, too.
func (e *extractor) spellings(r rune, folds bool) set {
	if r == utf8.RuneError {
		return nil // matches any byte that is not UTF-8
	}
	all := set{e.spelling(r)}
	if folds {
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			all = append(all, e.spelling(other))
		}
	}
	return bounded(all)
}

func (e *extractor) spelling(r rune) string {
	if e.folds {
		return small(string(r))
	}
	return string(r)
}

// class returns the spellings of a class of characters, or nil if it has too
// many. pairs has the first and the last character of each range.
func (e *extractor) class(pairs []rune) (all set) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1]-pairs[i] >= mostRunes || pairs[i] <= utf8.RuneError && utf8.RuneError <= pairs[i+1] {
			return nil
		}
		for r := pairs[i]; r <= pairs[i+1]; r++ {
			if r != '\n' { // no line has one
				all = append(all, e.spelling(r))
			}
		}
		if len(all) > 2*mostRunes {
			return nil
		}
	}
	if all = bounded(all); len(all) > mostRunes {
		return nil
	}
	return all
}

// A chain joins the facts of parts that follow one another. The zero value is
// an empty chain.
type chain struct {
	open     set  // the matches of the parts since the last cut; nil stands for the empty string
	required set  // the best of the sets before the cut
	broken   bool // open is not all that there is
}

// then adds a part.
func (c *chain) then(f facts) {
	if f.exact == nil {
		c.cut()
		c.required = better(c.required, f.required)
		return
	}
	joined := join(c.open, f.exact)
	if joined == nil {
		c.cut()
		joined = f.exact
	}
	c.open = joined
}

// cut ends the strings that grow from part to part.
func (c *chain) cut() {
	c.required = better(c.required, c.open)
	c.open, c.broken = nil, true
}

func (c *chain) facts() facts {
	switch {
	case c.broken:
		return facts{required: better(c.required, c.open)}
	case c.open == nil:
		return facts{exact: set{""}}
	}
	return facts{exact: c.open}
}

// join returns each string of one set followed by each of another, or nil if
// they are too many.
func join(heads, tails set) set {
	if heads == nil {
		heads = set{""}
	}
	if len(heads)*len(tails) > mostStrings {
		return nil
	}
	joined := make(set, 0, len(heads)*len(tails))
	for _, head := range heads {
		for _, tail := range tails {
			joined = append(joined, head+tail)
		}
	}
	return bounded(joined)
}

// bounded returns a set without repetitions, or nil if it is empty or too large.
func bounded(s set) set {
	slices.Sort(s)
	s = slices.Compact(s)
	if len(s) == 0 || len(s) > mostStrings {
		return nil
	}
	return s
}

// better returns the set that fewer lines contain: a guess by the length of the
// shortest string and by how many there are. A set that has the empty string
// is as good as none, and so nil.
func better(a, b set) set {
	if b.worth() > a.worth() {
		a = b
	}
	if a.worth() == 0 {
		return nil
	}
	return a
}

// worth is larger for a set that fewer lines contain.
func (s set) worth() int {
	if len(s) == 0 {
		return 0
	}
	const eachByte, each = 1000, 6
	return max(0, s.shortest()*eachByte-(len(s)-1)*each) * min(1, s.shortest())
}

// shortest returns the length of the shortest string, without marks.
func (s set) shortest() int {
	n := math.MaxInt
	for _, one := range s {
		n = min(n, len(unmarked(one)))
	}
	return n
}
