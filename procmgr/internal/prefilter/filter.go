package prefilter

import (
	"encoding/binary"
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
}

// A place is an occurrence of a run in a required string.
type place struct {
	of     string
	at     int
	owners []owner // of a Union
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
	if len(required) == 0 || required.shortest() == 1 && len(required) > 1 {
		return nil
	}
	return &Filter{required, newRuns(required, nil, folds)}
}

// newRuns chooses the runs of some strings. owners has the owners of each, or is
// nil.
func newRuns(strings set, owners map[string][]owner, folds bool) runs {
	f := runs{folds: folds, width: min(strings.shortest(), maxWidth), table: new([tableSize]uint16)}
	if folds {
		f.fold = 0x20202020
	}
	f.shift = uint8(8 * (4 - f.width))
	f.step = strings.shortest() - f.width + 1
	for _, s := range strings {
		// Of any step places that follow one another next looks at one.
		for at := range f.step {
			f.add(place{s, at, owners[s]})
		}
	}
	return f
}

// small returns a string with small ASCII letters.
func small(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, s)
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
	table, fold, shift, step := f.table, f.fold, f.shift, f.step // in registers
	for ; i <= len(p)-4; i += step {
		if slot := table[hash(binary.LittleEndian.Uint32(p[i:]), fold, shift)]; slot != 0 {
			return i, f.places[slot-1]
		}
	}
	for ; i <= len(p)-f.width; i += step {
		var four [4]byte
		copy(four[:], p[i:])
		if slot := table[f.hash(binary.LittleEndian.Uint32(four[:]))]; slot != 0 {
			return i, f.places[slot-1]
		}
	}
	return 0, nil
}

// compare returns the offset of a required string that has a run at i, or -1.
func (f *runs) compare(p []byte, i int, place *place) int {
	begin := i - place.at
	if begin >= 0 && len(p)-begin >= len(place.of) && f.equal(p[begin:begin+len(place.of)], place.of) {
		return begin
	}
	return -1
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
