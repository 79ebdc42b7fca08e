package capture_test

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
	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr/internal/capture"
)

// logged returns a stream with a log that has had a text.
func logged(t testing.TB, text string) *capture.Stream {
	t.Helper()
	s := newStream(capture.Options{Head: 1 << 10, Tail: 1 << 10, Raw: true})
	s.LogTo(openLogs(t, capture.LogOptions{}))
	s.Add([]byte(text))
	s.End()
	return s
}

// filler returns n lines that tell of no trouble, each with its number.
func filler(from, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d is as it should be\n", from+i)
	}
	return b.String()
}

func TestHighlights(t *testing.T) {
	t.Parallel()
	const all = 100 << 10
	for _, tt := range []struct {
		name, middle string
		room         int
		want         []string // line number, count and text
	}{
		{"none", "", all, nil},
		{"one, and two lines after it", "main.go:7: error: x\n  7 | y\n    | ^\n    = help\n", all,
			[]string{"501 [0] main.go:7: error: x\n  7 | y\n    | ^"}},
		{"an empty line ends what follows", "fatal: x\none\n\ntwo\n", all, []string{"501 [0] fatal: x\none"}},
		{"another highlight ends what follows", "error: x\nfailed: y\n", all,
			[]string{"501 [0] error: x", "502 [0] failed: y\nline 0 is as it should be\nline 1 is as it should be"}},
		{"a kind is shown once", strings.Repeat("one\nerror 12 in 'a' of /tmp/x.c at 0xdeadbeef\none\nerror  7 in 'b c' of src/y.c at 0x1\n\n", 50), all,
			[]string{"502 [99] error 12 in 'a' of /tmp/x.c at 0xdeadbeef\none"}},
		{"two kinds", strings.Repeat("error: cannot read\n\nerror: cannot write\n\n", 3), all,
			[]string{"501 [2] error: cannot read", "503 [2] error: cannot write"}},
		{"only the first 80 bytes tell kinds apart", "error: " + strings.Repeat("x", 80) + "1\n\nerror: " + strings.Repeat("x", 80) + "y\n\n", all,
			[]string{"501 [1] error: " + strings.Repeat("x", 80) + "1"}},
		{"upper case, and no ASCII", "NO SUCH thing\n\n✗ ä works\n\n", all, []string{"501 [0] NO SUCH thing", "503 [0] ✗ ä works"}},
		{"no UTF-8", "error: \xff\n\n", all, []string{"501 [0] error: \ufffd"}},
		{"room for one", "error: one of two\n\nerror: the other\n\n", 20, []string{"501 [0] error: one of two"}},
		{"a carriage return", "error: x\r\n\r\n", all, []string{"501 [0] error: x"}},
		{"a line that says it comes before one that mentions it", "works without an error\n\nerror: x\n\n", 10, []string{"503 [0] error: x"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := logged(t, filler(0, 500)+tt.middle+filler(0, 500))
			page := s.Read(0, headtail.Limits{Bytes: 500}, nil)
			before := page.Text
			found, unscanned := s.AllHighlights(page, tt.room)
			require.Zero(t, unscanned)
			var got []string
			for _, h := range found {
				got = append(got, fmt.Sprintf("%d [%d] %s", h.Line, h.Count, h.Text))
			}
			require.Equal(t, tt.want, got)
			require.Equal(t, before, s.Read(0, headtail.Limits{Bytes: 500}, nil).Text)
			none, _ := s.AllHighlights(page, 0)
			require.Empty(t, none)
		})
	}
}

// Without a log there are no highlights, and for a text that is whole neither.
func TestNoHighlights(t *testing.T) {
	t.Parallel()
	text := filler(0, 100) + "error: x\n" + filler(0, 100)
	s := newStream(capture.Options{Head: 1 << 20, Tail: 1 << 10, Raw: true})
	s.Add([]byte(text))
	s.End()
	found, unscanned := s.AllHighlights(s.Read(0, headtail.Limits{Bytes: 500}, nil), 1<<10)
	require.Empty(t, found)
	require.Zero(t, unscanned)
	s = logged(t, text)
	found, _ = s.AllHighlights(s.Read(0, headtail.Limits{}, nil), 1<<10)
	require.Empty(t, found)
}

// Lines are counted from the beginning of the stream, and kinds from since on.
func TestHighlightsFromAnOffset(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("error: x\n", 100) + filler(0, 200) + strings.Repeat("error: x\n", 10) + filler(0, 200)
	s := logged(t, text)
	from := int64(strings.Index(text, "line 0"))
	found, _ := s.AllHighlights(s.Read(from, headtail.Limits{Bytes: 500}, nil), 1<<10)
	require.Len(t, found, 1)
	require.Equal(t, 301, found[0].Line)
	require.Equal(t, 9, found[0].Count)
	require.True(t, strings.HasPrefix(text[found[0].Offset:], "error: x\n"))
}

// The middle of a line that is too long for a text is searched as well.
func TestHighlightsWithinALine(t *testing.T) {
	t.Parallel()
	for _, lines := range []string{"", filler(0, 300)} {
		text := "first\n" + strings.Repeat("x", 300<<10) + " an error: y " + strings.Repeat("z", 300<<10) + "\n" + lines
		s := logged(t, text)
		found, unscanned := s.AllHighlights(s.Read(0, headtail.Limits{Bytes: 3000}, nil), 1<<10)
		require.Zero(t, unscanned)
		require.Len(t, found, 1)
		require.Equal(t, 2, found[0].Line)
		require.Contains(t, found[0].Text, " an error: y ")
		require.LessOrEqual(t, len(found[0].Text), 300)
	}
}

// A line that is longer than the parts in which a log is searched is one line.
func TestHighlightsOfALongLine(t *testing.T) {
	t.Parallel()
	s := logged(t, filler(0, 500)+strings.Repeat("error: x", 300<<10)+"\n"+filler(0, 500))
	found, unscanned := s.AllHighlights(s.Read(0, headtail.Limits{Bytes: 500}, nil), 100<<10)
	require.Zero(t, unscanned)
	require.NotEmpty(t, found)
	require.Equal(t, 501, found[0].Line)
	require.LessOrEqual(t, count(found), 2, "a part of it from either end")
}

// What the search finds is what a plain one finds that looks at line after line.
func TestHighlightsOfAnything(t *testing.T) {
	t.Parallel()
	pieces := []string{"error", "FAIL", "not ok", "a", " ", "\n", "\n", "12", "/x/y", "'q'", "\xff", "✗", "no such", "ok", strings.Repeat("w", 5000)}
	for i := range 80 {
		r := rand.New(rand.NewPCG(uint64(i), 11))
		var b strings.Builder
		for range 200 + r.IntN(3000) {
			b.WriteString(pieces[r.IntN(len(pieces)-r.IntN(2))])
		}
		text := b.String()
		s := logged(t, text)
		limit := headtail.Limits{Bytes: 200 + r.IntN(2000), Line: 1 << 20}
		page := s.Read(0, limit, nil)
		found, unscanned := s.AllHighlights(page, 1<<20)
		require.Zero(t, unscanned)
		if page.Truncated == nil {
			require.Empty(t, found)
			continue
		}
		shown, below := make(map[string]bool), 0
		middle := text[:page.Truncated.Cuts[0].To]
		for _, h := range found {
			require.True(t, utf8.ValidString(h.Text))
			require.Equal(t, strings.Count(text[:h.Offset], "\n")+1, h.Line)
			for line := range strings.Lines(middle[h.Offset:]) {
				shown[capture.Kind(line)] = true
				break
			}
			_, after, _ := strings.Cut(middle[h.Offset:], "\n")
			for range strings.Count(h.Text, "\n") {
				var line string
				line, after, _ = strings.Cut(after, "\n")
				shown[capture.Kind(line+"\n")] = true
				if tells(line) {
					below++
				}
			}
		}
		kinds, lines := plainly(t, text, page)
		for kind := range kinds {
			require.True(t, shown[kind], "%d: %.100q", i, kind)
		}
		// A line that only mentions trouble may stand below another.
		require.LessOrEqual(t, count(found), lines)
		if below == 0 {
			require.Equal(t, lines, count(found), "%d", i)
		}
	}
}

func count(found []capture.Highlight) (lines int) {
	for _, h := range found {
		lines += 1 + h.Count
	}
	return lines
}

// plainly returns the kinds of the lines that tell of trouble in the middle of a
// text, and their number. A line that is shown counts if one of the two lines
// after it is not.
func plainly(t *testing.T, text string, page capture.Page) (kinds map[string]bool, lines int) {
	t.Helper()
	require.Len(t, page.Truncated.Cuts, 1)
	from := int(page.Truncated.Cuts[0].From)
	for begin, breaks := from, 0; begin >= 0 && from-begin <= 8<<10; begin-- {
		if begin == 0 || text[begin-1] == '\n' {
			if breaks++; breaks == 3 || begin == 0 {
				from = begin
				break
			}
		}
	}
	kinds = make(map[string]bool)
	for line := range strings.Lines(text[from:page.Truncated.Cuts[0].To]) {
		if tells(line) {
			kinds[capture.Kind(line)] = true
			lines++
		}
	}
	return kinds, lines
}

func tells(line string) bool {
	return slices.ContainsFunc(capture.Literals, func(literal string) bool {
		return strings.Contains(strings.ToLower(line), literal)
	})
}

// A search is bounded, says how much it has not seen, and begins at both ends.
func TestHeldHighlightsAreBounded(t *testing.T) {
	testenv.Held(t)
	const size = 80 << 20
	line := "a line that tells of nothing, again and again and again\n"
	text := strings.Repeat(line, size/len(line))
	middle := len(text) / 2 / len(line) * len(line)
	text = text[:9600*len(line)] + "error: at the beginning\n" + text[9600*len(line):middle] + "error: far away\n" + text[middle:len(text)-9600*len(line)] +
		"error: at the end\n" + text[len(text)-9600*len(line):]
	s := logged(t, text)
	page := s.Read(0, headtail.Limits{}, nil)
	began := time.Now()
	found, unscanned := s.Highlights(page, 8<<10)
	took := time.Since(began)
	require.GreaterOrEqual(t, unscanned, page.Truncated.OmittedBytes-64<<20)
	require.NotEmpty(t, found)
	require.Equal(t, "error: at the beginning", strings.Split(found[0].Text, "\n")[0])
	require.Equal(t, 9601, found[0].Line)
	require.Equal(t, "error: at the end", strings.Split(found[len(found)-1].Text, "\n")[0])
	for _, h := range found {
		require.NotContains(t, h.Text, "far away")
	}
	t.Logf("%d bytes were not searched, %v", unscanned, took)
}

func BenchmarkHighlights(b *testing.B) {
	for name, text := range map[string]string{
		"nothing":  strings.Repeat("a line that tells of nothing, again and again and again\n", 300000),
		"numbered": filler(0, 600000),
		"mentions": strings.Repeat("case error_handling of the ledger is ok\n/usr/share/trace/no-errors/badge.go\n", 220000),
		"all":      strings.Repeat("error: a line that tells of something, again and again\n", 300000),
	} {
		b.Run(name, func(b *testing.B) {
			s := logged(b, text)
			page := s.Read(0, headtail.Limits{}, nil)
			b.SetBytes(page.Truncated.OmittedBytes)
			for b.Loop() {
				s.AllHighlights(page, 8<<10)
			}
		})
	}
}
