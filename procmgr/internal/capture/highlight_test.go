package capture_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
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
		{"a form is shown once", strings.Repeat("one\nerror 12 in 'a' of /tmp/x.c at 0xdeadbeef\none\nerror  7 in 'b c' of src/y.c at 0x1\n\n", 50), all,
			[]string{"502 [99] error 12 in 'a' of /tmp/x.c at 0xdeadbeef\none"}},
		{"two forms", strings.Repeat("error: cannot read\n\nerror: cannot write\n\n", 3), all,
			[]string{"501 [2] error: cannot read", "503 [2] error: cannot write"}},
		{"only the first 80 bytes tell forms apart", "error: " + strings.Repeat("x", 80) + "y\n\nerror: " + strings.Repeat("x", 80) + "z\n\n", all,
			[]string{"501 [1] error: " + strings.Repeat("x", 80) + "y"}},
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
			found := s.AllHighlights(page, tt.room, true)
			var got []string
			for _, h := range found {
				got = append(got, fmt.Sprintf("%d [%d] %s", h.Line, h.Count, h.Text))
			}
			require.Equal(t, tt.want, got)
			_, none := s.AllHighlighted(page, headtail.Limits{Bytes: 500}, 0, true)
			require.Empty(t, none)
		})
	}
}

// What a line says of trouble: nothing, something if the command has failed, or enough.
func TestHighlightedLines(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ line, when string }{
		{"error: x", "always"},
		{"Error reading x", "always"},
		{"psql:load.sql:77: ERROR:  duplicate key", "always"},
		{"==12== Invalid write of size 4", "always"},
		{"main.c:7:13: runtime error: overflow", "always"},
		{"2026-11-28 12:00:00 error it is gone", "always"},
		{"ts=1 level=error msg=\"it is gone\"", "always"},
		{"KeyError: 0", "always"},
		{"java.lang.NullPointerException", "always"},
		{"Traceback (most recent call last):", "always"},
		{"[ERROR] it is gone", "always"},
		{"    cannot read it", "failed"},
		{"tests/a.py::test_b FAILED", "failed"},
		{"npm ERR! code ERESOLVE", "failed"},
		{"it works without an error", "failed"},
		{"a.go:3: got 1, want 2", "failed"},
		{"0 errors in x", "never"},
		{"Failures: 0", "never"},
		{"no error: it works", "never"},
		{"case error_handling of x", "never"},
		{"cc -Werror errors.go", "never"},
		{"--- PASS: TestFails (0.00s)", "never"},
		{"a badge of terror", "never"},
		{"EVENT OF FAILURE OF THE PROGRAM", "failed"},
		{"\tif err != nil {", "failed"},
		{"\tinfo, err := os.Stat(name)", "failed"},
	} {
		s := logged(t, filler(0, 500)+"\n"+tt.line+"\n\n"+filler(0, 500))
		page := s.Read(0, headtail.Limits{Bytes: 500}, nil)
		calm := s.AllHighlights(page, 1<<10, false)
		failed := s.AllHighlights(page, 1<<10, true)
		got := [2]bool{len(calm) > 0, len(failed) > 0}
		require.Equal(t, map[string][2]bool{"always": {true, true}, "failed": {false, true}, "never": {}}[tt.when], got, tt.line)
	}
}

// A command that has not failed has at most 15 lines of highlights.
func TestHighlightsOfACalmCommand(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, "error: kind %s\none\ntwo\nthree\n", strings.Repeat("x", i))
	}
	s := logged(t, filler(0, 500)+b.String()+filler(0, 500))
	for failed, want := range map[bool]int{false: 15, true: 240} {
		found := s.AllHighlights(s.Read(0, headtail.Limits{Bytes: 500}, nil), 1<<20, failed)
		lines := 0
		for _, h := range found {
			lines += 1 + strings.Count(h.Text, "\n")
		}
		require.GreaterOrEqual(t, lines, min(want, 200))
		require.True(t, failed || lines == want, lines)
	}
}

// Lines are counted from the beginning of the stream, and forms from since on.
func TestHighlightsFromAnOffset(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("error: x\n", 100) + filler(0, 200) + strings.Repeat("error: x\n", 10) + filler(0, 200)
	s := logged(t, text)
	from := int64(strings.Index(text, "line 0"))
	found := s.AllHighlights(s.Read(from, headtail.Limits{Bytes: 500}, nil), 1<<10, true)
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
		found := s.AllHighlights(s.Read(0, headtail.Limits{Bytes: 3000}, nil), 1<<10, true)
		require.Len(t, found, 1)
		require.Equal(t, 2, found[0].Line)
		require.Contains(t, found[0].Text, " an error: y ")
		require.LessOrEqual(t, len(found[0].Text), 300)
	}
}

// A line that is shown is a highlight if the lines after it are not.
func TestHighlightsAtTheCut(t *testing.T) {
	t.Parallel()
	const shown, behind = "error: it is here\n", "  because of this\n  and that\n"
	begin := filler(0, 100)
	s := logged(t, begin+shown+behind+"\n"+filler(0, 900))
	halves := 0
	for size := 2 * len(begin); ; size += 3 { // a text begins with half of its size
		page := s.Read(0, headtail.Limits{Bytes: size}, nil)
		if strings.Contains(page.Text, behind) {
			break
		}
		found := s.AllHighlights(page, 1<<10, true)
		require.Len(t, found, 1)
		require.Equal(t, strings.TrimSpace(shown+behind), found[0].Text, "%d", size)
		if strings.Contains(page.Text, shown) {
			halves++
		}
	}
	require.NotZero(t, halves)
}

// A text with highlights keeps to its limit, and no line of trouble falls between the two.
func TestHighlightsTakeRoomOfTheText(t *testing.T) {
	t.Parallel()
	text := filler(0, 200)
	for i := range 10 {
		text += fmt.Sprintf("error %s: it broke\n\n", strings.Repeat("x", i)) + filler(0, 40)
	}
	s := logged(t, text)
	for size := 1000; size < len(text)+100; size += 97 {
		limit := headtail.Limits{Bytes: size}
		page := s.Read(0, limit, nil)
		with, found := s.AllHighlighted(page, limit, size/3, true)
		all, room := with.Text, len(with.Text)
		for _, h := range found {
			all, room = all+h.Text, room+len(h.Text)
		}
		require.LessOrEqual(t, room, size)
		require.Equal(t, page.Truncated == nil, with.Truncated == nil)
		for i := range 10 {
			require.Equal(t, 1, strings.Count(all, fmt.Sprintf("error %s: it broke", strings.Repeat("x", i))), "%d bytes", size)
		}
		if len(found) == 0 {
			require.Equal(t, page.Text, with.Text)
		}
	}
}

// Highlights of any text are lines of it, each once, with their numbers; each line that
// begins with "error: " is in one.
func TestHighlightsOfAnything(t *testing.T) {
	t.Parallel()
	pieces := []string{"error", "FAIL", "not ok", "a", " ", "\n", "\n", "\nerror: ", "12", "/x/y", "'q'", "\xff", "✗", "no such", "ok", strings.Repeat("w", 5000)}
	for i := range 80 {
		r := rand.New(rand.NewPCG(uint64(i), 11))
		var b strings.Builder
		for range 200 + r.IntN(3000) {
			b.WriteString(pieces[r.IntN(len(pieces)-r.IntN(2))])
		}
		text := b.String()
		s := logged(t, text)
		page := s.Read(0, headtail.Limits{Bytes: 200 + r.IntN(2000), Line: 1 << 20}, nil)
		found := s.AllHighlights(page, 1<<20, true)
		if page.Truncated == nil {
			require.Empty(t, found)
			continue
		}
		lines, seen := 0, make(map[int64]bool)
		for _, h := range found {
			lines += 1 + h.Count
			require.True(t, utf8.ValidString(h.Text))
			require.Equal(t, strings.Count(text[:h.Offset], "\n")+1, h.Line)
			require.False(t, seen[h.Offset])
			seen[h.Offset] = true
		}
		omitted := page.Truncated.Cuts[0]
		require.GreaterOrEqual(t, lines, strings.Count(text[omitted.From:omitted.To], "\nerror: "))
	}
}

// A search is bounded, and looks at both ends.
func TestHeldHighlightsAreBounded(t *testing.T) {
	testenv.Held(t)
	line := "a line that tells of nothing, again and again and again\n"
	half := strings.Repeat(line, 40<<20/len(line))
	s := logged(t, line+"error: at the beginning\n"+half+"error: far away\n"+half+"error: at the end\n"+line)
	page := s.Read(0, headtail.Limits{Bytes: 60}, nil)
	found := s.AllHighlights(page, 8<<10, true)
	require.Len(t, found, 2)
	require.Equal(t, "error: at the beginning", strings.Split(found[0].Text, "\n")[0])
	require.Equal(t, 2, found[0].Line)
	require.Equal(t, "error: at the end", strings.Split(found[1].Text, "\n")[0])
}
