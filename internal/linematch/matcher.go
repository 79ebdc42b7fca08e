// Package linematch finds the lines that two texts have in common, in order, for
// packages that say what differs.
package linematch

import "slices"

// maxEdits is how many lines Myers' algorithm adds and removes before the lines that
// both have once are taken as anchors.
const maxEdits = 1024

// A Matcher finds the lines that two sequences have in common, in order. A line is
// a number: the same for lines that are the same.
type Matcher struct {
	// Most is how many steps it takes before it gives up. The zero value is any number.
	Most int
	// Late says that it has given up. Pairs has some of the lines then.
	Late  bool
	Pairs [][2]int32 // of the indexes of lines that belong together, in order

	steps int
}

// spend counts steps, and reports whether there have been too many.
func (m *Matcher) spend(n int) bool {
	m.steps += n
	m.Late = m.Late || m.Most > 0 && m.steps > m.Most
	return m.Late
}

// Match appends to Pairs a longest sequence of lines that a and b have in common,
// or a shorter one if that takes far less time. ia and ib are the indexes of their
// lines.
func (m *Matcher) Match(a, b, ia, ib []int32) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		m.Pairs = append(m.Pairs, [2]int32{ia[0], ib[0]})
		a, b, ia, ib = a[1:], b[1:], ia[1:], ib[1:]
	}
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	endA, endB := ia[len(a)-n:], ib[len(b)-n:]
	a, b, ia, ib = a[:len(a)-n], b[:len(b)-n], ia[:len(a)-n], ib[:len(b)-n]
	if len(a) > 0 && len(b) > 0 && !m.spend(len(a)+len(b)) && !m.myers(a, b, ia, ib) {
		m.anchored(a, b, ia, ib)
	}
	for i := range endA {
		m.Pairs = append(m.Pairs, [2]int32{endA[i], endB[i]})
	}
}

// myers is Match by the algorithm of Myers (1986). It reports false, and has
// appended nothing, if more than maxEdits lines differ.
func (m *Matcher) myers(a, b, ia, ib []int32) bool {
	n, most := len(a), min(maxEdits, len(a)+len(b))
	k0 := most + 1
	far := make([]int32, 2*most+3) // the furthest index of a on each diagonal
	var steps [][]int32            // far before each number of edits
	for d := range most + 1 {
		steps = append(steps, slices.Clone(far[k0-d:k0+d+1]))
		for k := -d; k <= d; k += 2 {
			x := 0
			switch down := k == -d || k != d && far[k0+k-1] < far[k0+k+1]; {
			case d == 0:
			case down:
				x = int(far[k0+k+1])
			default:
				x = int(far[k0+k-1]) + 1
			}
			y, begun := x-k, x
			for x < n && y < len(b) && a[x] == b[y] {
				x, y = x+1, y+1
			}
			far[k0+k] = int32(x)
			if m.spend(1 + x - begun) {
				return false
			}
			if x >= n && y >= len(b) {
				m.back(steps, k, len(a), len(b), ia, ib)
				return true
			}
		}
	}
	return false
}

// back walks back from the ends, and appends the pairs of the way in order.
func (m *Matcher) back(steps [][]int32, k, x, y int, ia, ib []int32) {
	begun := len(m.Pairs)
	for d := len(steps) - 1; d >= 0; d-- {
		far, k0 := steps[d], d
		fromX, fromK := 0, 0
		if d > 0 {
			// far has the diagonals from -d to d.
			at := func(k int) int32 { return far[k0+k] }
			if k == -d || k != d && at(k-1) < at(k+1) {
				fromK, fromX = k+1, int(at(k+1))
			} else {
				fromK, fromX = k-1, int(at(k-1))
			}
		}
		fromY := fromX - fromK
		startX := fromX // after the edit, where the snake begins
		if d > 0 && fromK < k {
			startX++
		}
		for x > startX {
			x, y = x-1, y-1
			m.Pairs = append(m.Pairs, [2]int32{ia[x], ib[y]})
		}
		x, y, k = fromX, fromY, fromK
	}
	slices.Reverse(m.Pairs[begun:])
}

// anchored is Match for sequences that differ much: the lines that both have
// once, as far as they are in order, belong together, and between two of them it
// goes on.
func (m *Matcher) anchored(a, b, ia, ib []int32) {
	if m.Late {
		return
	}
	type place struct{ inA, inB, countA, countB int32 }
	places := make(map[int32]*place, len(a))
	for i, line := range a {
		p := places[line]
		if p == nil {
			p = new(place)
			places[line] = p
		}
		p.inA = int32(i)
		p.countA++
	}
	for j, line := range b {
		if p := places[line]; p != nil {
			p.inB = int32(j)
			p.countB++
		}
	}
	if m.spend(8 * (len(a) + len(b))) {
		return
	}
	var once []*place // in the order of a
	for i, line := range a {
		if p := places[line]; p.countA == 1 && p.countB == 1 && p.inA == int32(i) {
			once = append(once, p)
		}
	}
	// The longest part of it that is in the order of b too.
	var tails []int // tails[n] is the last one of the best sequence of n+1
	before := make([]int, len(once))
	for i, p := range once {
		n, _ := slices.BinarySearchFunc(tails, p.inB, func(t int, inB int32) int { return int(once[t].inB) - int(inB) })
		before[i] = -1
		if n > 0 {
			before[i] = tails[n-1]
		}
		if n == len(tails) {
			tails = append(tails, i)
		} else {
			tails[n] = i
		}
	}
	if len(tails) == 0 {
		return
	}
	anchors := make([]*place, len(tails))
	for i, n := tails[len(tails)-1], len(tails)-1; n >= 0; i, n = before[i], n-1 {
		anchors[n] = once[i]
	}
	x, y := int32(0), int32(0)
	for _, p := range anchors {
		m.Match(a[x:p.inA], b[y:p.inB], ia[x:p.inA], ib[y:p.inB])
		m.Pairs = append(m.Pairs, [2]int32{ia[p.inA], ib[p.inB]})
		x, y = p.inA+1, p.inB+1
	}
	m.Match(a[x:], b[y:], ia[x:], ib[y:])
}
