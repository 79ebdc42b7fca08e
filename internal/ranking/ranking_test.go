package ranking_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/ranking"
)

func TestLines(t *testing.T) {
	// Of ten highlights, each has a short line behind it, a long one, and another
	// short one.
	sizes := []int{50, 100, 101, 10}
	size := func(highlight, line int) (int, bool) {
		if highlight >= 10 || line >= len(sizes) {
			return 0, false
		}
		return sizes[line], true
	}
	var want []string
	for i := range 8 {
		want = append(want, fmt.Sprint(i, " 0"), fmt.Sprint(i, " 1"))
	}
	want = append(want, "8 0", "9 0")
	for i := range 10 {
		if i >= 8 {
			want = append(want, fmt.Sprint(i, " 1"))
		}
		want = append(want, fmt.Sprint(i, " 2"), fmt.Sprint(i, " 3"))
	}
	for stop := range len(want) + 1 {
		got := []string{}
		for i, line := range ranking.Lines(size) {
			if len(got) == stop {
				break
			}
			got = append(got, fmt.Sprintf("%d %d", i, line))
		}
		require.Equal(t, want[:stop], got)
	}
}
