package linematch_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/linematch"
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

// pairs returns the pairs of equal lines.
func pairs(a, b []int) [][2]int32 {
	number := func(lines []int) (ids, at []int32) {
		for i, line := range lines {
			ids, at = append(ids, int32(line)), append(at, int32(i))
		}
		return ids, at
	}
	idsA, atA := number(a)
	idsB, atB := number(b)
	m := linematch.Matcher{Most: 1 << 28}
	m.Match(idsA, idsB, atA, atB)
	return m.Pairs
}

// check sees to it that pairs are of equal lines and in order.
func check(t *testing.T, a, b []int, pairs [][2]int32) {
	t.Helper()
	last := [2]int32{-1, -1}
	for _, p := range pairs {
		require.Greater(t, p[0], last[0])
		require.Greater(t, p[1], last[1])
		require.Equal(t, a[p[0]], b[p[1]])
		last = p
	}
}

func TestPairs(t *testing.T) {
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
		pairs := pairs(a, b)
		check(t, a, b, pairs)
		require.Len(t, pairs, longest(a, b), "%v %v", a, b)
	}
}

// Texts that have nothing in order take bounded time.
func TestPairsOfLongTexts(t *testing.T) {
	t.Parallel()
	a := make([]int, 200_000)
	for i := range a {
		a[i] = i
	}
	b := slices.Clone(a)
	b = slices.Delete(b, 1000, 1010)
	require.Len(t, pairs(a, b), len(b))
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(b), func(i, j int) { b[i], b[j] = b[j]%1000, b[i]%1000 })
	check(t, a, b, pairs(a, b))
	m := linematch.Matcher{Most: 1 << 20}
	number := make([]int32, len(a))
	for i := range number {
		number[i] = int32(i)
	}
	back := slices.Clone(number)
	slices.Reverse(back)
	m.Match(number, back, number, number)
	require.True(t, m.Late)
}
