package linediff_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr/internal/linediff"
)

func numbered(n int) (lines []string) {
	for i := range n {
		lines = append(lines, fmt.Sprintf("line %d of it\n", i+1))
	}
	return lines
}

// The texts are the output of diff -U2, without the file names.
func TestText(t *testing.T) {
	t.Parallel()
	lines := numbered(20)
	whole := strings.Join(lines, "")
	change := func(f func(lines []string) []string) string {
		return strings.Join(f(append([]string(nil), lines...)), "")
	}
	for _, tt := range []struct{ name, before, after, text string }{
		{"a line changes", whole, change(func(l []string) []string { l[9] = "x\n"; return l }),
			"@@ -8,5 +8,5 @@\n line 8 of it\n line 9 of it\n-line 10 of it\n+x\n line 11 of it\n line 12 of it\n"},
		{"a line comes at the end", whole, whole + "x\n", "@@ -19,2 +19,3 @@\n line 19 of it\n line 20 of it\n+x\n"},
		{"a line comes at the beginning", whole, "x\n" + whole, "@@ -1,2 +1,3 @@\n+x\n line 1 of it\n line 2 of it\n"},
		{"the first line goes", whole, change(func(l []string) []string { return l[1:] }), "@@ -1,3 +1,2 @@\n-line 1 of it\n line 2 of it\n line 3 of it\n"},
		{"two hunks", whole, change(func(l []string) []string { l[2], l[15] = "x\n", "y\n"; return l }),
			"@@ -1,5 +1,5 @@\n line 1 of it\n line 2 of it\n-line 3 of it\n+x\n line 4 of it\n line 5 of it\n" +
				"@@ -14,5 +14,5 @@\n line 14 of it\n line 15 of it\n-line 16 of it\n+y\n line 17 of it\n line 18 of it\n"},
		{"two changes in a hunk", whole, change(func(l []string) []string { l[2], l[7] = "x\n", "y\n"; return l }),
			"@@ -1,10 +1,10 @@\n line 1 of it\n line 2 of it\n-line 3 of it\n+x\n line 4 of it\n line 5 of it\n line 6 of it\n line 7 of it\n-line 8 of it\n+y\n line 9 of it\n line 10 of it\n"},
		{"nothing before", "", "x\ny\n", "@@ -0,0 +1,2 @@\n+x\n+y\n"},
		{"nothing after", "x\ny\n", "", "@@ -1,2 +0,0 @@\n-x\n-y\n"},
		{"no line end", "x\ny", "x\ny\n", "@@ -1,2 +1,2 @@\n x\n-y\n\\ No newline at end of file\n+y\n"},
		{"a carriage return", "x\r\ny\n", "x\ny\n", "@@ -1,2 +1,2 @@\n-x\r\n+x\n y\n"},
		{"a time that is equal is shown as it is now", "03:04:05 a\nx\n", "13:14:15 a\ny\n", "@@ -1,2 +1,2 @@\n 13:14:15 a\n-x\n+y\n"},
		{"lines that look like ours", "a\n", "a\n@@ -1 +1 @@\n(The order of the lines differs.)\n", "@@ -1 +1,3 @@\n a\n+@@ -1 +1 @@\n+(The order of the lines differs.)\n"},
		{"bytes that are no text", "a\xff\n", "a\xfe\n", "@@ -1 +1 @@\n-a\uFFFD\n+a\uFFFD\n"},
		{"a NUL", "a\x00\n", "a\n", "@@ -1 +1 @@\n-a\x00\n+a\n"},
		{"another order", "1\n2\n3\n4\n5\n6\n", "6\n5\n4\n3\n2\n1\n", set},
		{"another order, and a line more", "1\n2\n3\n4\n5\n6\n", "6\n5\n4\n3\n2\n2\n1\n", set + "+2\n"},
		{"another order, and another line", "1\n2\n3\n4\n5\n6\n", "6\n5\n4\nx\n2\n1\n", set + "-3\n+x\n"},
		{"all is new", "1\n2\n3\n", "a\nb\n", "@@ -1,3 +1,2 @@\n-1\n-2\n-3\n+a\n+b\n"},
		{"one line has moved", "1\n2\n3\n4\n5\n6\n", "6\n1\n2\n3\n4\n5\n", "@@ -1,2 +1,3 @@\n+6\n 1\n 2\n@@ -4,3 +5,2 @@\n 4\n 5\n-6\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := find(t, tt.before, tt.after)
			require.Equal(t, tt.text, c.Text)
			require.False(t, c.Same)
		})
	}
}

const set = "(The order of the lines differs. They are compared as a set: only lines that are more or fewer than before follow.)\n"

// A text that doesn't fit is empty: a part of it would look like all of it.
func TestLimit(t *testing.T) {
	t.Parallel()
	before, after := strings.Join(numbered(1000), ""), strings.ReplaceAll(strings.Join(numbered(1000), ""), "0 of it", "0 of that")
	whole := find(t, before, after)
	require.Equal(t, 100, whole.Added)
	for _, limit := range []int{0, 1, 100, len(whole.Text) - 1, len(whole.Text), len(whole.Text) + 1} {
		c, ok := linediff.Find(linediff.Output{Text: before}, linediff.Output{Text: after}, headtail.Limits{Bytes: limit})
		require.True(t, ok)
		require.Equal(t, []int{100, 100, 1000}, []int{c.Added, c.Removed, c.Lines})
		if limit == 0 || limit >= len(whole.Text) { // 0 is the default
			require.Equal(t, whole.Text, c.Text)
		} else {
			require.Empty(t, c.Text)
		}
	}
}

func TestLongLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 1<<17)
	before, after := "a\n"+long+"old"+long+"\nb\n", "a\n"+long+"new"+long+"\nb\n"
	c, ok := linediff.Find(linediff.Output{Text: before}, linediff.Output{Text: after}, headtail.Limits{})
	require.True(t, ok)
	require.Less(t, len(c.Text), 5000)
	require.True(t, utf8.ValidString(c.Text))
	require.Contains(t, c.Text, "éoldé")
	require.Contains(t, c.Text, "énewé")
	require.Equal(t, []int{1, 1, 3}, []int{c.Added, c.Removed, c.Lines})
}

// What is compared is bounded, beside what is equal at both ends.
func TestBounds(t *testing.T) {
	t.Parallel()
	bytes := strings.Repeat("x", 1<<20-10)
	few := func(seed uint64, kinds int) string {
		r := rand.New(rand.NewPCG(seed, 0))
		var b strings.Builder
		for range 20_000 {
			fmt.Fprintf(&b, "%d\n", r.IntN(kinds))
		}
		return b.String()
	}
	much := strings.Join(numbered(500_000), "")
	lines := numbered(5000)
	many := strings.Join(lines, "")
	slices.Reverse(lines)
	back := strings.Join(lines, "")
	for _, tt := range []struct {
		name, before, after string
		ok                  bool
	}{
		{"bytes", "a" + bytes, "b" + bytes, true},
		{"too many bytes", "a" + bytes + bytes, "b" + bytes + bytes, false},
		{"lines", strings.Repeat("a\n", 20_000), strings.Repeat("b\n", 20_000), true},
		{"too many lines", strings.Repeat("a\n", 20_001), "b\n", false},
		{"too many lines after", "b\n", strings.Repeat("a\n", 20_001), false},
		{"much that is equal", much, much[:len(much)/2] + "x\n" + much[len(much)/2:], true},
		{"much that is equal before", much, much + "x\n", true},
		{"much that is equal behind", "x\n" + much, "y\n" + much, true},
		{"another order", few(1, 2), few(2, 2), true}, // 1024 edits don't suffice, as a set a few hundred do
		{"another order, and too many other lines", few(1, 5000), few(2, 5000), false},
		{"another order of too many lines", "a\n" + many + "b\n", "b\n" + back + "a\n", true},
	} {
		began := time.Now()
		_, ok := linediff.Find(linediff.Output{Text: tt.before}, linediff.Output{Text: tt.after}, headtail.Limits{})
		require.Equal(t, tt.ok, ok, tt.name)
		require.Less(t, time.Since(began), 30*time.Second, tt.name)
	}
}
