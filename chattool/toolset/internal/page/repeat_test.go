package page_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/toolproc/toolproc/chattool/toolset/internal/page"
)

func TestFold(t *testing.T) {
	t.Parallel()
	const line = "waiting for the database\n"
	times := func(n int, line string) string { return strings.Repeat(line, n) }
	for _, tt := range []struct {
		name, text string
		cut        bool
		want       string // "": the text itself
	}{
		{name: "empty"},
		{name: "one line", text: line},
		{name: "three", text: times(3, line)},
		{name: "four", text: times(4, line), want: line + "... [the line above 3 times more] ...\n"},
		{name: "many", text: "a\n" + times(10000, line) + "z\n", want: "a\n" + line + "... [the line above 9999 times more] ...\nz\n"},
		{name: "two runs", text: times(5, line) + times(6, "\t"+line), want: line + "... [the line above 4 times more] ...\n\t" + line + "... [the line above 5 times more] ...\n"},
		{name: "short lines that a count is longer than", text: times(19, "a\n")},
		{name: "short lines that a count is as long as", text: times(20, "a\n")},
		{name: "short lines that a count is shorter than", text: times(21, "a\n"), want: "a\n... [the line above 20 times more] ...\n"},
		{name: "empty lines", text: "a\n" + times(100, "\n") + "b", want: "a\n\n... [99 empty lines more] ...\nb"},
		{name: "lines of spaces", text: times(50, " \n"), want: " \n... [the line above 49 times more] ...\n"},
		{name: "no newline at the end", text: times(4, line) + line[:len(line)-1], want: line + "... [the line above 3 times more] ...\n" + line[:len(line)-1]},
		{name: "no newline at all", text: times(100, "a")},
		{name: "a counter", text: "1 of 4 done, please wait\n2 of 4 done, please wait\n3 of 4 done, please wait\n4 of 4 done, please wait\n"},
		{name: "blocks", text: times(20, "a long line of some bytes\nanother long line of some bytes\n")},
		{name: "one line longer", text: times(3, line) + "x" + line + times(3, line)},
		{name: "carriage returns", text: times(5, "a progress line\r\n"), want: "a progress line\r\n... [the line above 4 times more] ...\n"},
		{name: "a gap on both sides", cut: true, text: times(5, line) + "wait\n\n... [omitted 80 bytes] ...\n\n" + times(6, line),
			want: line + "... [the line above 4 times more] ...\nwait\n\n... [omitted 80 bytes] ...\n\n" + line + line + "... [the line above 4 times more] ...\n"},
		{name: "a gap between lines", cut: true, text: times(4, line) + "\n\n... [omitted 80 bytes] ...\n\n" + times(4, line),
			want: line + "... [the line above 3 times more] ...\n\n\n... [omitted 80 bytes] ...\n\n" + times(4, line)},
		{name: "a gap at the end", cut: true, text: times(3, line) + "\n\n... [omitted 80 bytes] ...\n\n"},
		{name: "a gap that is none", cut: true, text: times(3, line) + "\n\n... [omitted "},
		{name: "what fills the lines' middles may have differed", cut: true, text: times(9, "a ... [omitted 80 bytes] ... b\n")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.want
			if want == "" {
				want = tt.text
			}
			require.Equal(t, want, page.Fold(tt.text, tt.cut))
		})
	}
}

var repeated = regexp.MustCompile(`^\.\.\. \[(?:the line above )?(\d+) (?:times|empty lines) more\] \.\.\.\n$`)

// unfold is the plain inverse.
func unfold(text string) string {
	var all strings.Builder
	last := ""
	for line := range strings.Lines(text) {
		if m := repeated.FindStringSubmatch(line); m != nil {
			n, _ := strconv.Atoi(m[1])
			all.WriteString(strings.Repeat(last, n))
			continue
		}
		all.WriteString(line)
		last = line
	}
	return all.String()
}

func FuzzFold(f *testing.F) {
	for _, seed := range []string{"", "a\n", "a\n\n", "a long line to be folded\n", "x ... [omitted 80 bytes] ... y\n"} {
		f.Add(seed, 3, seed, 40, "b", true)
	}
	f.Add("aaaaaaaaaaaaaaaa\n", 8, "\n", 300, "aaaaaaaaaaaaaaaa", false)
	f.Fuzz(func(t *testing.T, a string, n int, b string, m int, rest string, cut bool) {
		text := strings.Repeat(a, min(max(n, 0), 100)) + strings.Repeat(b, min(max(m, 0), 100)) + rest
		if strings.Contains(strings.ReplaceAll(text, "omitted", ""), " more] ...") {
			return // it has a marker of its own
		}
		got := page.Fold(text, cut)
		if unfold(got) != text {
			t.Fatalf("%q became %q, which stands for %q", text, got, unfold(got))
		}
		if got != text && len(got) >= len(text) {
			t.Fatalf("%d bytes became %d", len(text), len(got))
		}
		if !cut && longestRun(got) > 40 {
			t.Fatalf("%q still has a run", got)
		}
	})
}

// longestRun returns how many identical lines, each without a marker, follow
// each other at most.
func longestRun(text string) int {
	longest, run, last := 0, 0, ""
	for line := range strings.Lines(text) {
		if line != last || strings.Contains(line, "... [omitted ") {
			run = 0
		}
		run, last = run+1, line
		longest = max(longest, run)
	}
	return longest
}

func TestFoldAllocates(t *testing.T) {
	text := numbered(32 << 10)
	require.Zero(t, allocations(func() { page.Fold(text, false) }))
	require.Zero(t, allocations(func() { page.Fold(text[:9000], true) }))
}

// allocations returns how many allocations a call makes. Those of goroutines
// that other tests have left to end are counted, too, so it is the least of some
// measurements.
func allocations(f func()) float64 {
	least := testing.AllocsPerRun(10, f)
	for i := 0; i < 1000 && least > 0; i++ {
		time.Sleep(time.Millisecond)
		least = min(least, testing.AllocsPerRun(10, f))
	}
	return least
}

// numbered returns lines that all differ, of n bytes in all.
func numbered(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString("line " + strconv.Itoa(i) + " of a log, as long as most\n")
	}
	return b.String()[:n]
}

func BenchmarkFold(b *testing.B) {
	for name, text := range map[string]string{
		"nothing": numbered(32 << 10),
		"all":     strings.Repeat("the same line again and again\n", 32<<10/30),
		"empty":   strings.Repeat("\n", 32<<10),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				page.Fold(text, false)
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	text := numbered(32 << 10)
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		page.JSON.Render(page.Report{Output: &text})
	}
}
