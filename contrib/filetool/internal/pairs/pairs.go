// Package pairs finds the lines that two states of a text have in common, in order.
package pairs

import (
	"cmp"
	"slices"
)

// mostCells is the largest table that is filled for a longest sequence: some milliseconds,
// and 4 MiB.
const mostCells = 1 << 20

// Of returns the indexes of lines that a and b have in common, in order: a longest sequence
// of them, if no more than some thousand lines lie between the first and the last that
// differ. Of longer texts, the lines that both have once are paired first.
func Of[T comparable](a, b []T) [][2]int {
	p := &pairing[T]{a: a, b: b}
	p.match(0, len(a), 0, len(b))
	return p.all
}

type pairing[T comparable] struct {
	a, b []T
	all  [][2]int
}

// match pairs lines of a part of each text.
func (p *pairing[T]) match(a0, a1, b0, b1 int) {
	for a0 < a1 && b0 < b1 && p.a[a0] == p.b[b0] {
		p.all = append(p.all, [2]int{a0, b0})
		a0, b0 = a0+1, b0+1
	}
	same := 0
	for a0 < a1 && b0 < b1 && p.a[a1-1] == p.b[b1-1] {
		a1, b1, same = a1-1, b1-1, same+1
	}
	if (a1-a0)*(b1-b0) <= mostCells {
		p.longest(a0, a1, b0, b1)
	} else if anchors := p.anchors(a0, a1, b0, b1); len(anchors) > 0 {
		for _, anchor := range anchors {
			p.match(a0, anchor[0], b0, anchor[1])
			p.all = append(p.all, anchor)
			a0, b0 = anchor[0]+1, anchor[1]+1
		}
		p.match(a0, a1, b0, b1)
	}
	for i := range same {
		p.all = append(p.all, [2]int{a1 + i, b1 + i})
	}
}

// longest pairs a longest common sequence, by a table of how long it is behind each pair of
// places.
func (p *pairing[T]) longest(a0, a1, b0, b1 int) {
	width := b1 - b0 + 1
	length := make([]int32, (a1-a0+1)*width)
	for i := a1 - a0 - 1; i >= 0; i-- {
		for j := b1 - b0 - 1; j >= 0; j-- {
			if at := i*width + j; p.a[a0+i] == p.b[b0+j] {
				length[at] = length[at+width+1] + 1
			} else {
				length[at] = max(length[at+width], length[at+1])
			}
		}
	}
	for i, j := 0, 0; i < a1-a0 && j < b1-b0; {
		switch at := i*width + j; {
		case p.a[a0+i] == p.b[b0+j]:
			p.all = append(p.all, [2]int{a0 + i, b0 + j})
			i, j = i+1, j+1
		case length[at+width] >= length[at+1]:
			i++
		default:
			j++
		}
	}
}

// anchors returns lines that both parts have once, as many as are in the same order.
func (p *pairing[T]) anchors(a0, a1, b0, b1 int) (all [][2]int) {
	type place struct{ inA, inB, timesA, timesB int }
	places := make(map[T]place)
	for i := a0; i < a1; i++ {
		s := places[p.a[i]]
		s.inA, s.timesA = i, s.timesA+1
		places[p.a[i]] = s
	}
	for j := b0; j < b1; j++ {
		if s, ok := places[p.b[j]]; ok {
			s.inB, s.timesB = j, s.timesB+1
			places[p.b[j]] = s
		}
	}
	var once []place // in the order of a
	for i := a0; i < a1; i++ {
		if s := places[p.a[i]]; s.timesA == 1 && s.timesB == 1 {
			once = append(once, s)
		}
	}
	var tails []int // tails[n] is the last one of the best sequence of n+1
	before := make([]int, len(once))
	for i, s := range once {
		n, _ := slices.BinarySearchFunc(tails, s.inB, func(t, inB int) int { return cmp.Compare(once[t].inB, inB) })
		if before[i] = -1; n > 0 {
			before[i] = tails[n-1]
		}
		if n == len(tails) {
			tails = append(tails, i)
		} else {
			tails[n] = i
		}
	}
	if len(tails) == 0 {
		return nil
	}
	for i := tails[len(tails)-1]; i >= 0; i = before[i] {
		all = append(all, [2]int{once[i].inA, once[i].inB})
	}
	slices.Reverse(all)
	return all
}
