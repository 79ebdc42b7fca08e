package procfile

import (
	"slices"
)

// mostCompared is how many pairs of lines common compares at most.
const mostCompared = 4 << 20

// common returns for each line of b the line of a that it is in the longest common
// sequence of both, or -1.
func common(a, b []string) []int {
	is := make([]int, len(b))
	for i := range is {
		is[i] = -1
	}
	from := 0
	for from < min(len(a), len(b)) && a[from] == b[from] {
		is[from] = from
		from++
	}
	endA, endB := len(a), len(b)
	for endA > from && endB > from && a[endA-1] == b[endB-1] {
		endA, endB = endA-1, endB-1
		is[endB] = endA
	}
	a, mid := a[from:endA], b[from:endB]
	if len(a)*len(mid) > mostCompared {
		between(a, mid, func(j, i int) { is[from+j] = from + i })
		return is
	}
	width := len(mid) + 1
	long := make([]int32, (len(a)+1)*width) // the length of the sequence from two lines on
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(mid) - 1; j >= 0; j-- {
			if a[i] == mid[j] {
				long[i*width+j] = long[(i+1)*width+j+1] + 1
			} else {
				long[i*width+j] = max(long[(i+1)*width+j], long[i*width+j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(mid); {
		switch {
		case a[i] == mid[j]:
			is[from+j] = from + i
			i, j = i+1, j+1
		case long[(i+1)*width+j] >= long[i*width+j+1]:
			i++
		default:
			j++
		}
	}
	return is
}

// between does the same as common for long texts: lines that are in each of both once
// are taken first, and then what is between them.
func between(a, b []string, is func(j, i int)) {
	once := func(lines []string) map[string]int {
		at := make(map[string]int, len(lines))
		for i, line := range lines {
			if _, twice := at[line]; twice {
				i = -1
			}
			at[line] = i
		}
		return at
	}
	inA, inB := once(a), once(b)
	// The longest sequence of such lines that is in the same order in both: ends has
	// for each length the one that ends first in a, and before the one before it.
	var ends []int
	before := make(map[int]int)
	for j, line := range b {
		i, ok := inA[line]
		if !ok || i < 0 || inB[line] < 0 {
			continue
		}
		n, _ := slices.BinarySearchFunc(ends, i, func(j, i int) int { return inA[b[j]] - i })
		if before[j] = -1; n > 0 {
			before[j] = ends[n-1]
		}
		ends = append(ends[:n], append([]int{j}, ends[min(n+1, len(ends)):]...)...)
	}
	if len(ends) == 0 {
		return
	}
	endA, endB := len(a), len(b)
	for j := ends[len(ends)-1]; ; j = before[j] {
		fromA, fromB := 0, 0
		i := -1
		if j >= 0 {
			i = inA[b[j]]
			is(j, i)
			fromA, fromB = i+1, j+1
		}
		for k, at := range common(a[fromA:endA], b[fromB:endB]) {
			if at >= 0 {
				is(fromB+k, fromA+at)
			}
		}
		if endA, endB = i, j; j < 0 {
			return
		}
	}
}
