// Package ranking says which lines of highlights come first if there is no room for
// all of them. A manager, which finds them, and a result, which shows them, keep
// the same order. So a larger result never shows less.
package ranking

import "iter"

const (
	// gravest is how many highlights come with the short lines that follow them
	// before others come at all.
	gravest = 8
	// short is how long these lines may be, in bytes.
	short = 100
)

// Lines yields the lines of highlights, each by the number of its highlight in the
// order of rank and by its own: first the gravest with the short lines that follow
// them, then a line of each other one, and then the other lines that follow. size
// returns how many bytes a line has. It returns false if there is no such line.
func Lines(size func(highlight, line int) (int, bool)) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		var next []int // line of each highlight
		follow := func(i, most int) bool {
			for {
				n, ok := size(i, next[i])
				if !ok || n > most {
					return true
				}
				if !yield(i, next[i]) {
					return false
				}
				next[i]++
			}
		}
		for i := 0; ; i++ {
			if _, ok := size(i, 0); !ok {
				break
			}
			if !yield(i, 0) {
				return
			}
			next = append(next, 1)
			if i < gravest && !follow(i, short) {
				return
			}
		}
		for i := range next {
			if !follow(i, 1<<30) {
				return
			}
		}
	}
}
