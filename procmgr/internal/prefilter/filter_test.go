package prefilter_test

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/internal/prefilter"
	"github.com/toolproc/toolproc/procmgr/internal/randre"
)

// parse returns an expression in the form that New wants.
func parse(t testing.TB, pattern string) *syntax.Regexp {
	t.Helper()
	re, err := syntax.Parse(pattern, syntax.Perl)
	require.NoError(t, err, pattern)
	return re.Simplify()
}

func TestRequired(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		want    []string
		folds   bool
	}{
		{"READY", []string{"READY"}, false},
		{"error|warn|ready", []string{"error", "ready", "warn"}, false},
		{`(?i)listening on .*:\d+`, []string{"listening on ", "li\u017ftening on "}, true},
		{`ready in \d+ ?ms`, []string{"ready in 0", "ready in 1", "ready in 2", "ready in 3", "ready in 4", "ready in 5", "ready in 6", "ready in 7", "ready in 8", "ready in 9"}, false},
		{`^\s*(BUILD|TEST) (FAILED|SUCCESSFUL)$`, []string{"BUILD FAILED", "BUILD SUCCESSFUL", "TEST FAILED", "TEST SUCCESSFUL"}, false},
		{`server (is )?up`, []string{"server is up", "server up"}, false},
		{`(?i)K`, []string{"k", "\u212a"}, true},
		{`[Ee]rror.*timeout`, []string{"timeout"}, true},
		{`(foo)+bar`, []string{"foobar"}, false},
		{`(a|bcd.)e`, []string{"e"}, false},
		{`(abc.|de.f)*x`, []string{"x"}, false},
		{`^(ok|FAIL) `, []string{"\xfeFAIL ", "\xfeok "}, false},
		{`\b(ok|no)\b.`, []string{"\xffno\xff", "\xffok\xff"}, false},
		{`ok\s`, []string{"ok\t", "ok\f", "ok\r", "ok "}, false},
		{`✓|✗`, []string{"✓", "✗"}, false},
		{`a?b?`, nil, false},
		{`\x{fffd}`, nil, false},
		{`[^a]\w*`, nil, false},
		{`.`, nil, false},
		{`(ready)?`, nil, false},
		{`ready|.`, nil, false},
	} {
		t.Run(tt.pattern, func(t *testing.T) {
			got, folds := prefilter.Required(parse(t, tt.pattern))
			require.ElementsMatch(t, tt.want, got)
			require.Equal(t, tt.folds, folds)
		})
	}
}

// check compares the filter of a pattern with the expression itself: each line
// that the expression matches is found, by its first required string or by one
// that comes in the same line.
func check(t *testing.T, pattern string, text []byte) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return
	}
	f := prefilter.New(parsed.Simplify())
	if f == nil {
		return
	}
	begin := 0
	for line := range bytes.SplitSeq(text, []byte{'\n'}) {
		if re.Match(line) {
			require.GreaterOrEqual(t, f.Index(line), 0, "%q in the line %q", pattern, line)
			at := f.Index(text[begin:])
			require.True(t, 0 <= at && at <= len(line), "%q in %q: found at %d in %q", pattern, line, at, text[begin:])
		}
		begin += len(line) + 1
	}
}

// A string that must stand at the beginning of a line or of a word is found
// only there.
func TestIndexLooksAtBoundaries(t *testing.T) {
	for _, tt := range []struct {
		pattern, text string
		want          int
	}{
		{`(?m)^(FAIL|ok)\s+\S+`, "it took 7 ms\nan ok result\n", -1},
		{`(?m)^(FAIL|ok)\s+\S+`, "ok  pkg", 0},
		{`(?m)^(FAIL|ok)\s+\S+`, "took 7\nok  pkg\nFAIL pkg", 7},
		{`^[<>]`, "a > b\n> c", 6},
		{`(^|x)ok`, "took\nxok\n", 5},
		{`(?i)\b(error|failed)\b`, "errors=0 terror unfailed", -1},
		{`(?i)\b(error|failed)\b`, "errors=0\nan ERROR", 12},
		{`\bok\b`, "ok", 0},
		{`\bok\b`, "ok_ook\nook\nok.", 11},
		{`✓|✗`, "✔ 1\n✗ 2", 6},
	} {
		t.Run(tt.pattern, func(t *testing.T) {
			require.Equal(t, tt.want, prefilter.New(parse(t, tt.pattern)).Index([]byte(tt.text)))
		})
	}
}

// With what a union has found, each of its filters visits the lines that it
// visits alone.
func TestUnion(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	unions := 0
	for range 5000 {
		var filters []*prefilter.Filter
		for range 1 + r.IntN(10) {
			filters = append(filters, prefilter.New(parse(t, randre.Pattern(r, 3))))
		}
		union := prefilter.NewUnion(filters)
		if union == nil {
			continue
		}
		unions++
		hits := make([]prefilter.Hits, len(filters))
		for range 2 { // the hits of one text are not those of the next
			text := randre.Text(r, 60)
			if r.IntN(50) == 0 {
				text = bytes.Repeat(text, 300) // more hits than are noted
			}
			union.Search(text, hits)
			whole := text[:bytes.LastIndexByte(text, '\n')+1]
			for i, f := range filters {
				if f != nil {
					require.Equal(t, visited(f, whole, nil), visited(f, whole, &hits[i]), "filter %d of %d in %q", i, len(filters), text)
				}
			}
		}
	}
	require.Greater(t, unions, 1000)
}

// visited returns the offsets of the lines at which a filter finds something.
func visited(f *prefilter.Filter, text []byte, hits *prefilter.Hits) (lines []int) {
	for from := 0; ; {
		at := f.Next(text, from, hits)
		if at < 0 {
			return lines
		}
		line := from + bytes.LastIndexByte(text[from:at], '\n') + 1
		lines = append(lines, line)
		from = line + bytes.IndexByte(text[line:], '\n') + 1
	}
}

func FuzzFilter(f *testing.F) {
	f.Add(`(?i)listening on .*:\d+`, []byte("now\nLi\u017ftening on :80\nlistening on port:8"))
	f.Add(`error|warn|ready`, []byte(strings.Repeat("wart ", 20)+"\nerro\nrready\n"))
	f.Add(`:\d{4,5}\b`, []byte("::1:12345 :999"))
	f.Add(`(a+b)+c?[xy]`, []byte("aab\nabx"))
	f.Add("\\x{fffd}k|(?i)k", []byte("\xffk\n\u212a"))
	f.Fuzz(func(t *testing.T, pattern string, text []byte) {
		if len(pattern) > 200 || len(text) > 4096 {
			return
		}
		check(t, pattern, text)
	})
}

// Patterns and lines of few different characters match often.
func TestFilterOfRandomPatterns(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		check(t, randre.Pattern(r, 3), randre.Text(r, 60))
	}
}
