package prefilter

import (
	"bytes"
	"encoding/binary"
	"iter"
	"regexp/syntax"
	"strings"
)

// A Filter finds the text that an expression may match. It does not change, and
// is safe for concurrent use.
//
// It knows each required string by a run of at most three bytes of it. It looks
// for the runs, and compares the strings only with the text around a run.
type Filter struct {
	required set
	runs     runs
}

// runs are the runs of some required strings, and how they are found.
type runs struct {
	fold   uint32             // the bits in four bytes that two cases of a letter differ in, if folds
	folds  bool               // the strings have small letters, which stand for both cases
	width  int                // bytes of a run
	shift  uint8              // the bits of four bytes that are behind a run
	table  *[tableSize]uint16 // by the hash of a run: 0, or an index in places plus 1
	places [][]place
	// step is the distance between the places of a text at which next looks
	// for a run.
	step int
	// hop is a byte that stands after bytes before each string, if hops, and
	// package bytes looks for that byte instead.
	hops  bool
	hop   byte
	after int
}

// A place is an occurrence of a run in a required string.
type place struct {
	of     string
	at     int
	owners []owner // of a Union

	line        bool // a line begins with the string
	left, right bool // a word begins or ends at that side of the string
}

// newPlace returns the place of the run at an offset in a string without its
// marks.
func newPlace(marked string, at int, owners []owner) place {
	p := place{of: unmarked(marked), at: at, owners: owners}
	p.right = strings.HasSuffix(marked, wordMark)
	before := marked[:strings.Index(marked, p.of[:1])]
	p.line, p.left = strings.Contains(before, lineMark), strings.Contains(before, wordMark)
	return p
}

// An owner is a filter of a Union that requires a string. If letters stand for
// both cases in the Union but not in the filter, exact is the string.
type owner struct {
	filter int
	exact  string
}

const (
	maxWidth  = 3 // a shorter run makes a longer step
	tableBits = 12
	tableSize = 1 << tableBits
)

// New returns the filter of an expression, or nil if the expression has none
// that helps. The expression must be simplified, so that it has no counted
// repetition.
func New(re *syntax.Regexp) *Filter {
	required, folds := required(re)
	if len(required) == 0 {
		return nil
	}
	f := &Filter{required, newRuns(required, nil, folds)}
	if required.shortest() == 1 && len(required) > 1 && !f.runs.hops {
		return nil
	}
	return f
}

// Words returns a filter that requires one of some words. Their small ASCII letters
// stand for both cases.
func Words(words []string) *Filter { return &Filter{words, newRuns(words, nil, true)} }

// All returns the required strings in p, in the order of the offsets at which they
// begin. It is for a filter of Words.
func (f *Filter) All(p []byte) iter.Seq2[int, string] {
	return func(yield func(begin int, word string) bool) {
		for i := 0; ; i++ {
			at, places := f.runs.next(p, i)
			if places == nil {
				return
			}
			for j := range places {
				if f.runs.compare(p, at, &places[j]) == at && !yield(at, places[j].of) {
					return
				}
			}
			i = at
		}
	}
}

// newRuns chooses the runs of some strings. owners has the owners of each, or is
// nil.
func newRuns(all set, owners map[string][]owner, folds bool) runs {
	f := runs{folds: folds, width: min(all.shortest(), maxWidth), table: new([tableSize]uint16)}
	if folds {
		f.fold = 0x20202020
	}
	f.shift = uint8(8 * (4 - f.width))
	f.step = all.shortest() - f.width + 1
	f.hop, f.after, f.hops = all.hop(f.step)
	if f.hops {
		f.step = 1
	}
	for _, s := range all {
		// Of any step places that follow one another next looks at one.
		for at := range f.step {
			f.add(newPlace(s, at, owners[s]))
		}
	}
	return f
}

// hop returns a byte that stands so many bytes before each string of a set: the
// newline before it, or its own first byte. It returns only one that is rare.
// Strings that next finds by long steps need none but the newline.
func (s set) hop(step int) (hop byte, after int, ok bool) {
	first := newPlace(s[0], 0, nil)
	lines, leads := true, step == 1 && first.of[0] != ' ' && first.of[0] != '\t' && !isWord(first.of[0])
	for _, one := range s {
		p := newPlace(one, 0, nil)
		lines = lines && p.line
		leads = leads && p.of[0] == first.of[0]
	}
	if lines {
		return '\n', 1, true
	}
	return first.of[0], 0, leads
}

// isWord reports whether a byte belongs to a word, as an expression's \b
// understands it.
func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}

// small returns a string with small ASCII letters.
func small(s string) string {
	b := []byte(s) // which may have marks
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] += 'a' - 'A'
		}
	}
	return string(b)
}

// add enters a place into the table.
func (f *runs) add(p place) {
	var four [4]byte
	copy(four[:], p.of[p.at:p.at+f.width])
	slot := &f.table[f.hash(binary.LittleEndian.Uint32(four[:]))]
	if *slot == 0 {
		f.places = append(f.places, nil)
		*slot = uint16(len(f.places))
	}
	f.places[*slot-1] = append(f.places[*slot-1], p)
}

// hash returns the slot of the run at the beginning of four bytes. If letters
// stand for both cases, both have one hash, and so have some other bytes.
func (f *runs) hash(four uint32) uint32 { return hash(four, f.fold, f.shift) }

func hash(four, fold uint32, shift uint8) uint32 {
	return (four | fold) << (shift & 31) * 0x9E3779B1 >> (32 - tableBits)
}

// Index returns the offset of a required string in p: of one in the first line
// that has any. It returns -1 if there is none. Then the expression matches no
// line of p.
func (f *Filter) Index(p []byte) int {
	for i := 0; ; {
		at, places := f.runs.next(p, i)
		for j := range places {
			if begin := f.runs.compare(p, at, &places[j]); begin >= 0 {
				return begin
			}
		}
		if places == nil {
			return -1
		}
		i = at + f.runs.step
	}
}

// next returns the first offset in p, from one on, at which there may be a run,
// and the places that the run has in the strings. It returns no places if there
// is none.
func (f *runs) next(p []byte, i int) (at int, places []place) {
	if f.hops {
		return f.nextHop(p, i)
	}
	table, fold, shift, step := f.table, f.fold, f.shift, f.step // in registers
	for ; i <= len(p)-4; i += step {
		if slot := table[hash(binary.LittleEndian.Uint32(p[i:]), fold, shift)]; slot != 0 {
			return i, f.places[slot-1]
		}
	}
	for ; i <= len(p)-f.width; i += step {
		if places = f.look(p[i:]); places != nil {
			return i, places
		}
	}
	return 0, nil
}

// nextHop is next for strings that have a byte before them.
func (f *runs) nextHop(p []byte, i int) (at int, places []place) {
	for ; ; i++ {
		if from := i - f.after; from >= 0 { // a text begins like a line
			n := bytes.IndexByte(p[min(from, len(p)):], f.hop)
			if n < 0 {
				return 0, nil
			}
			i += n
		}
		if i > len(p)-f.width {
			return 0, nil
		}
		if places = f.look(p[i:]); places != nil {
			return i, places
		}
	}
}

// look returns the places of the run with which a text may begin.
func (f *runs) look(p []byte) []place {
	var four [4]byte
	copy(four[:], p)
	if slot := f.table[f.hash(binary.LittleEndian.Uint32(four[:]))]; slot != 0 {
		return f.places[slot-1]
	}
	return nil
}

// compare returns the offset of a required string that has a run at i, or -1.
func (f *runs) compare(p []byte, i int, place *place) int {
	begin := i - place.at
	end := begin + len(place.of)
	switch {
	case begin < 0 || end > len(p) || !f.equal(p[begin:end], place.of),
		place.line && begin > 0 && p[begin-1] != '\n',
		place.left && (begin > 0 && isWord(p[begin-1])) == isWord(p[begin]),
		place.right && (end < len(p) && isWord(p[end])) == isWord(p[end-1]):
		return -1
	}
	return begin
}

// equal compares a text with a required string of the same length.
func (f *runs) equal(text []byte, s string) bool {
	if !f.folds {
		return string(text) == s
	}
	for i, c := range text {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != s[i] {
			return false
		}
	}
	return true
}
