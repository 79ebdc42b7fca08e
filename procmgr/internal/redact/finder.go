package redact

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
)

// A needle is a form of a value: what may stand for each of its characters.
type needle struct {
	value int // of Set.names
	chars [][]string
	run   int // a character with which some begin that stand for themselves alone
}

const (
	gram    = MinValue // how many bytes are looked at to begin with
	bitsLog = 18
)

// A finder finds needles in a text. It looks at gram bytes in each stride of them: at
// least one such place is within the run of each needle that is there.
type finder struct {
	needles []needle
	stride  int
	known   []uint64           // bits of grams that are in places
	places  map[uint32][]place // by gram
	begins  [256][]int         // needles, by their first byte
	within  [256]bool          // bytes that some needle has
	longest int                // the most bytes that a needle takes
}

// A place is a gram in a needle, from a character on.
type place struct{ needle, at int }

// newFinder returns the finder of needles. Each has a run of gram characters or more.
func newFinder(needles []needle, runs []int) *finder {
	f := &finder{needles: needles, stride: math.MaxInt, known: make([]uint64, 1<<bitsLog/64), places: make(map[uint32][]place)}
	for _, n := range runs {
		f.stride = min(f.stride, n-gram+1)
	}
	for number, n := range needles {
		long := 0
		for i, ways := range n.chars {
			most := 0
			for _, way := range ways {
				most = max(most, len(way))
				for _, c := range []byte(way) {
					f.within[c] = true
				}
				if first := way[0]; i == 0 && !slices.Contains(f.begins[first], number) {
					f.begins[first] = append(f.begins[first], number)
				}
			}
			long += most
		}
		f.longest = max(f.longest, long)
		for at := n.run; at < n.run+f.stride; at++ {
			var g uint32
			for i := range gram {
				g |= uint32(n.chars[at+i][0][0]) << (8 * i)
			}
			h := hash(g)
			f.known[h/64] |= 1 << (h % 64)
			f.places[g] = append(f.places[g], place{number, at})
		}
	}
	return f
}

func hash(g uint32) uint32 { return g * 0x9e3779b1 >> (32 - bitsLog) }

// find calls found for each needle in a text.
func (f *finder) find(text []byte, found func(value, from, to int)) {
	known, stride := f.known, f.stride
	for i := 0; i+gram <= len(text); i += stride {
		g := binary.LittleEndian.Uint32(text[i:])
		if h := hash(g); known[h/64]>>(h%64)&1 == 0 {
			continue
		}
		for _, p := range f.places[g] {
			n := &f.needles[p.needle]
			if from := n.before(text[:i], p.at); from >= 0 {
				if to, _ := n.after(text, i, p.at); to >= 0 {
					found(n.value, from, to)
				}
			}
		}
	}
}

// after returns where the rest of the needle ends, from a character on, if that begins
// at an offset of a text; else -1. open says that it may end later in a longer text.
func (n *needle) after(text []byte, from, char int) (to int, open bool) {
	var room, other [8]int
	at, next := append(room[:0], from), other[:0]
	for _, ways := range n.chars[char:] {
		for _, i := range at {
			for _, way := range ways {
				switch rest := text[i:]; {
				case len(rest) < len(way):
					open = open || strings.HasPrefix(way, string(rest))
				case string(rest[:len(way)]) == way && !slices.Contains(next, i+len(way)):
					next = append(next, i+len(way))
				}
			}
		}
		if at, next = next, at[:0]; len(at) == 0 {
			return -1, open
		}
	}
	return slices.Max(at), open
}

// before returns the offset at which the needle begins if text ends with the characters
// of the needle before the one at index char, or -1.
func (n *needle) before(text []byte, char int) (from int) {
	var room, other [8]int
	at, next := append(room[:0], len(text)), other[:0]
	for _, ways := range slices.Backward(n.chars[:char]) {
		for _, i := range at {
			for _, way := range ways {
				if j := i - len(way); j >= 0 && string(text[j:i]) == way && !slices.Contains(next, j) {
					next = append(next, j)
				}
			}
		}
		if at, next = next, at[:0]; len(at) == 0 {
			return -1
		}
	}
	return slices.Min(at)
}

// opens returns where the longest end of a text begins that is the beginning of a needle,
// and its value. It returns len(text) if there is none.
func (f *finder) opens(text []byte) (from, value int) {
	from = len(text)
	for least := max(0, len(text)-f.longest); from > least && f.within[text[from-1]]; {
		from--
	}
	for ; from < len(text); from++ {
		for _, i := range f.begins[text[from]] {
			n := &f.needles[i]
			if _, open := n.after(text, from, 0); open {
				return from, n.value
			}
		}
	}
	return len(text), 0
}
