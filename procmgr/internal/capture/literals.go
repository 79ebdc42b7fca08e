package capture

import (
	"bytes"
	"encoding/binary"
	"regexp/syntax"
	"sync"
	"unicode/utf8"
)

// maxLiterals is how many literals may be searched for in place of a pattern.
const maxLiterals = 32

// Literals are a set of texts such that every match of a pattern contains one of them.
// So the pattern itself is tried only on lines with a literal. They don't change.
type literals struct {
	texts [][]byte // none if the pattern requires none
	fold  bool     // texts are folded, and found in a folded text
}

// newLiterals returns the literals that a simplified pattern requires.
func newLiterals(re *syntax.Regexp) (l literals) {
	for _, text := range required(re, &l.fold) {
		l.texts = append(l.texts, []byte(text))
	}
	for _, text := range l.texts {
		if l.fold {
			fold(text)
		}
	}
	return l
}

// required returns a set of literals such that every match of re contains one of them,
// or nil. It sets folds if one of them may stand for both cases.
func required(re *syntax.Regexp, folds *bool) (best []string) {
	switch re.Op {
	case syntax.OpCapture, syntax.OpPlus, syntax.OpConcat:
		for _, sub := range re.Sub {
			best = better(best, required(sub, folds))
		}
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			one := required(sub, folds)
			if one == nil || len(best)+len(one) > maxLiterals {
				return nil
			}
			best = append(best, one...)
		}
	case syntax.OpLiteral:
		ignoresCase := re.Flags&syntax.FoldCase != 0
		*folds = *folds || ignoresCase
		for text := string(re.Rune); len(text) > 0; {
			// Some runes match more than themselves and the other case of an ASCII letter:
			// U+FFFD each byte that isn't UTF-8, k the Kelvin sign, and s the long s.
			n := 0
			for _, r := range text {
				if r == utf8.RuneError || ignoresCase && (r >= utf8.RuneSelf || r|0x20 == 'k' || r|0x20 == 's') {
					break
				}
				n += utf8.RuneLen(r)
			}
			best = better(best, []string{text[:n]})
			_, size := utf8.DecodeRuneInString(text[n:])
			text = text[n+size:]
		}
	}
	return best
}

// better returns the literals that fewer lines contain: those whose shortest is longer.
func better(a, b []string) []string {
	shortest := func(texts []string) (n int) {
		for i, text := range texts {
			if i == 0 || len(text) < n {
				n = len(text)
			}
		}
		return n
	}
	if shortest(b) > shortest(a) {
		return b
	}
	return a
}

// fold sets a bit in each byte that makes both cases of an ASCII letter equal. It also
// makes some other bytes equal, which only costs a look at their line.
func fold(text []byte) {
	for ; len(text) >= 8; text = text[8:] {
		binary.LittleEndian.PutUint64(text, binary.LittleEndian.Uint64(text)|0x2020202020202020)
	}
	for i := range text {
		text[i] |= 0x20
	}
}

// A finder looks for literals in one text.
type finder struct {
	literals
	text, folded []byte
	at           [maxLiterals]int // the offset of each literal plus 1; 0 if it wasn't looked for
}

// finders lends finders, whose room for a folded text may be large.
var finders = sync.Pool{New: func() any { return new(finder) }}

// in returns the finder of a text. The caller gives it back to finders.
func (l *literals) in(text []byte) *finder {
	f := finders.Get().(*finder)
	*f = finder{literals: *l, text: text, folded: f.folded}
	if l.fold {
		f.folded = append(f.folded[:0], text...)
		fold(f.folded)
		f.text = f.folded
	}
	return f
}

// next returns the first offset, from one on, at which there is a literal, or -1. The
// offsets it's called with never get smaller. Without literals, any offset will do.
func (f *finder) next(from int) int {
	if len(f.texts) == 0 {
		return from
	}
	first := len(f.text)
	for i, literal := range f.texts {
		if f.at[i] <= from {
			f.at[i] = len(f.text) + 1
			if n := bytes.Index(f.text[from:], literal); n >= 0 {
				f.at[i] = from + n + 1
			}
		}
		first = min(first, f.at[i]-1)
	}
	if first == len(f.text) {
		return -1
	}
	return first
}
