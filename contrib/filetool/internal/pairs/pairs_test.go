package pairs_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/contrib/filetool/internal/pairs"
)

// longest returns how long a longest common sequence is.
func longest(a, b []int) int {
	row := make([]int, len(b)+1)
	for _, x := range a {
		diagonal := 0
		for j, y := range b {
			was := row[j+1]
			if x == y {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(row[j+1], row[j])
			}
			diagonal = was
		}
	}
	return row[len(b)]
}

// check sees to it that pairs are of equal lines and in order.
func check(t *testing.T, a, b []int, all [][2]int) {
	t.Helper()
	last := [2]int{-1, -1}
	for _, p := range all {
		require.Greater(t, p[0], last[0])
		require.Greater(t, p[1], last[1])
		require.Equal(t, a[p[0]], b[p[1]])
		last = p
	}
}

func TestOf(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		kinds := 1 + random.IntN(8)
		a, b := make([]int, random.IntN(20)), make([]int, random.IntN(20))
		for i := range a {
			a[i] = random.IntN(kinds)
		}
		for i := range b {
			b[i] = random.IntN(kinds)
		}
		all := pairs.Of(a, b)
		check(t, a, b, all)
		require.Len(t, all, longest(a, b), "%v %v", a, b)
	}
}

// Long texts with few differences are paired as far as they are equal, and texts with
// nothing in order take bounded time.
func TestOfLongTexts(t *testing.T) {
	t.Parallel()
	a := make([]int, 200_000)
	for i := range a {
		a[i] = i
	}
	b := slices.Clone(a)
	for at := range 20 {
		b = slices.Delete(b, at*9_000, at*9_000+7)
	}
	require.Len(t, pairs.Of(a, b), len(b))
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(b), func(i, j int) { b[i], b[j] = b[j]%1000, b[i]%1000 })
	check(t, a, b, pairs.Of(a, b))
	reversed := slices.Clone(a)
	slices.Reverse(reversed)
	require.Len(t, pairs.Of(a, reversed), 1)
}
