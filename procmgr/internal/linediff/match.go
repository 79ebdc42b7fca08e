package linediff

import "slices"

// A pair has the indexes of two lines that belong together.
type pair struct{ a, b int32 }

// match returns a longest sequence of lines that a and b have in common, in order, by
// the algorithm of Myers (1986). ok is false if more than maxEdits lines differ.
func match(a, b []int32) (pairs []pair, ok bool) {
	most := min(maxEdits, len(a)+len(b))
	zero := most + 1
	far := make([]int, 2*most+3) // the furthest index of a on each diagonal
	var steps [][]int            // far before each number of edits, from diagonal -d to d
	for d := range most + 1 {
		steps = append(steps, slices.Clone(far[zero-d:zero+d+1]))
		for k := -d; k <= d; k += 2 {
			x := 0
			if d > 0 {
				from := before(far, zero, d, k)
				x = far[zero+from] + max(k-from, 0) // to the right, a line of a goes
			}
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			far[zero+k] = x
			if x >= len(a) && x-k >= len(b) {
				return back(steps, x, k), true
			}
		}
	}
	return nil, false
}

// before returns the diagonal from which the d-th edit leads to the diagonal k, the one
// that is further.
func before(far []int, zero, d, k int) int {
	if k == -d || k != d && far[zero+k-1] < far[zero+k+1] {
		return k + 1
	}
	return k - 1
}

// back walks back from the ends, and returns the pairs of the way in order.
func back(steps [][]int, x, k int) (pairs []pair) {
	for d := len(steps) - 1; d >= 0; d-- {
		from, start := 0, 0 // start is behind the edit
		if d > 0 {
			from = before(steps[d], d, d, k)
			start = steps[d][d+from] + max(k-from, 0)
		}
		for ; x > start; x-- {
			pairs = append(pairs, pair{int32(x - 1), int32(x - 1 - k)})
		}
		x, k = start-max(k-from, 0), from
	}
	slices.Reverse(pairs)
	return pairs
}
