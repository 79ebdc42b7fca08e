package prefilter

import (
	"cmp"
	"slices"
	"strings"
)

// buckets is how many groups of runs the masks tell apart.
const buckets = 8

// masks tell for many places of a text at once at which of them a run may begin.
// For each byte of a run they have, by its low and its high four bits, the
// buckets with a run that has such a byte there. A place may have a run of a
// bucket if its bytes agree with that in all of them.
type masks struct {
	// at are the offsets in a run of the bytes that bytes tells of. The first
	// two rule out the most places.
	at      [maxWidth]uint64
	bytes   [maxWidth]nibbles
	vectors int // how many places index looks at at once
}

// nibbles have the buckets by the low and by the high four bits of a byte.
type nibbles struct{ low, high [16]byte }

// newMasks returns the masks of some runs, all of the same length.
func newMasks(runs []string, folds bool, vectors int) *masks {
	var tables [maxWidth]nibbles
	for i, g := range grouped(runs, folds) {
		for at, class := range g {
			for nibble := range 16 {
				tables[at].low[nibble] |= byte(class.low>>nibble&1) << i
				tables[at].high[nibble] |= byte(class.high>>nibble&1) << i
			}
		}
	}
	order := [maxWidth]uint64{0, 1, 2, 3}
	slices.SortStableFunc(order[:], func(a, b uint64) int {
		return cmp.Compare(tables[a].share(), tables[b].share())
	})
	m := &masks{at: order, vectors: vectors}
	for i, at := range order {
		m.bytes[i] = tables[at]
	}
	return m
}

// share estimates the share of bytes that are in a bucket.
func (n *nibbles) share() (share float64) {
	for b := range 256 {
		if n.low[b&15]&n.high[b>>4] != 0 {
			share += shareOf(byte(b))
		}
	}
	return share
}

// A class has the bytes whose low four bits are in one set and whose high four
// bits are in another.
type class struct{ low, high uint16 }

// A group has the classes of the bytes of some runs.
type group [maxWidth]class

// grouped puts runs into as many groups as there are buckets. Runs that are
// alike share a group, so that each group takes few others.
func grouped(runs []string, folds bool) (groups []group) {
	slices.Sort(runs)
	for _, run := range slices.Compact(runs) {
		one := groupOf(run, folds)
		// Most sets are large because of a digit. Such runs are neighbours.
		if n := len(groups); n > 0 && one.unlike(groups[n-1]) <= 1 {
			groups[n-1] = groups[n-1].and(one)
			continue
		}
		groups = append(groups, one)
		if len(groups) > 2*buckets {
			groups = joined(groups)
		}
	}
	for len(groups) > buckets {
		groups = joined(groups)
	}
	return groups
}

// joined joins the two groups that together take the fewest other bytes.
func joined(groups []group) []group {
	x, y, least := 0, 0, 0.0
	for i, a := range groups {
		for j, b := range groups[:i] {
			if more := a.and(b).share() - a.share() - b.share(); x == 0 || more < least {
				x, y, least = i, j, more
			}
		}
	}
	groups[y] = groups[y].and(groups[x])
	return slices.Delete(groups, x, x+1)
}

// groupOf returns the group of one run. A run that is shorter than maxWidth goes
// on with any byte.
func groupOf(run string, folds bool) (g group) {
	for i := range g {
		if i >= len(run) {
			g[i] = class{1<<16 - 1, 1<<16 - 1}
			continue
		}
		c := run[i]
		g[i] = class{1 << (c & 15), 1 << (c >> 4)}
		if folds && 'a' <= c && c <= 'z' {
			c -= 'a' - 'A' // its low bits are the same
			g[i].high |= 1 << (c >> 4)
		}
	}
	return g
}

// and returns the group of the runs of both.
func (g group) and(other group) group {
	for i, c := range other {
		g[i].low |= c.low
		g[i].high |= c.high
	}
	return g
}

// unlike returns how many classes differ.
func (g group) unlike(other group) (n int) {
	for i, c := range other {
		if g[i] != c {
			n++
		}
	}
	return n
}

// share estimates the share of places at which the group takes the bytes.
func (g group) share() float64 {
	share := 1.0
	for _, c := range g {
		sum := 0.0
		for i := range len(usual) {
			if b := usual[i]; c.low>>(b&15)&1 != 0 && c.high>>(b>>4)&1 != 0 {
				sum += shareAt(i)
			}
		}
		share *= max(sum, rare)
	}
	return share
}

const (
	// usual has the most usual bytes in what programs print, the most usual
	// first.
	usual = " etaoinsrl./-cd0umph1:fg_b2yv\"=w'3k,4)(5x6[8]7"
	rare  = 0.002 // the share of any other byte
)

// shareOf estimates the share of a byte in what programs print.
func shareOf(c byte) float64 {
	if i := strings.IndexByte(usual, c); i >= 0 {
		return shareAt(i)
	}
	return rare
}

// shareAt estimates the share of a usual byte.
func shareAt(i int) float64 { return 0.3 / float64(i+3) }
