package capture_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail"
)

// decoys returns lines of many kinds that only mention trouble.
func decoys(n int) string {
	var b strings.Builder
	for i := range n {
		name := string([]byte{'a' + byte(i/26%26), 'a' + byte(i%26)})
		for _, line := range []string{
			"case error_%s ok", "test handles_failure::%s ... ok", "--- PASS: TestFails%s (0.00s)", "INFO  retry of %s failed, will try again",
			"cc -Werror -c fatal/%s.c", "Tests run: 3, Failures: 0, Errors: 0 in %s", "0 errors, no warnings in %s", "[       OK ] Thrower.ThrowsException%s",
			"%s: trace of a badge was left", "level=info msg=\"%s could not be found in the cache\"",
		} {
			fmt.Fprintf(&b, line+"\n", name)
		}
	}
	return b.String()
}

// Lines that tell of trouble come before a thousand kinds of lines that only
// mention it.
func TestHighlightsOfManyTools(t *testing.T) {
	t.Parallel()
	verdicts := strings.Repeat("checking one more file: ok\n", 100)
	for _, tt := range []struct{ name, lines, want string }{
		{"the second word of a line", "tests/test_a.py::test_error_where_x FAILED\n", "tests/test_a.py::test_error_where_x FAILED"},
		{"cargo", "test tests::error_path ... FAILED\n", "test tests::error_path ... FAILED"},
		{"a race", "==================\nWARNING: DATA RACE\nRead at 0x00c00011c018 by goroutine 84:\n", "WARNING: DATA RACE\nRead at 0x00c00011c018 by goroutine 84:"},
		{"go", "    ledger_test.go:212: Balance() = 1207, want 1270\n", "    ledger_test.go:212: Balance() = 1207, want 1270"},
		{"java.util.logging", "SEVERE: posting gone\n", "SEVERE: posting gone"},
		{"a log with a level", "12:07:30.450 [http-3] SEVERE shop.Ledger - posting gone\n", "12:07:30.450 [http-3] SEVERE shop.Ledger - posting gone"},
		{"logfmt", "ts=1 level=error msg=\"it is gone\"\n", "ts=1 level=error msg=\"it is gone\""},
		{"klog", "E0501 12:00:00.1 sync.go:12] it is gone\n", "E0501 12:00:00.1 sync.go:12] it is gone"},
		{"npm", "npm ERR! code ERESOLVE\n", "npm ERR! code ERESOLVE"},
		{"TeX", "! Paragraph ended before \\x was complete.\n<to be read again>\n", "! Paragraph ended before \\x was complete.\n<to be read again>"},
		{"a missing file", "missing: a.txt\n", "missing: a.txt"},
		{"a row", "row 7: duplicate of row 3\n", "row 7: duplicate of row 3"},
		{"a bad row", "bad row 7\n", "bad row 7"},
		{"a wrong sum", "wrong sum in block 7\n", "wrong sum in block 7"},
		{"an exception", "java.lang.IllegalStateException: gone\n\tat a.B.c(B.java:7)\n", "java.lang.IllegalStateException: gone\n\tat a.B.c(B.java:7)"},
		{"an exception without a message", "java.lang.NullPointerException\n", "java.lang.NullPointerException"},
		{"a list of sums", verdicts + "checking one more file: differs\n" + verdicts, "checking one more file: differs"},
		{"pods", strings.Repeat("shop web-7f 1/1 Running 0 12d\n", 100) + "shop api-9c 0/1 Pending 0 12d\n" + strings.Repeat("shop web-7f 1/1 Running 0 12d\n", 3), "shop api-9c 0/1 Pending 0 12d"},
		{"left and right", "  left: 4117\n right: 4118\n", "  left: 4117\n right: 4118"},
		{"jest", "    Expected: 4\n    Received: 5\n", "    Expected: 4\n    Received: 5"},
		{"TAP", "# got 834\n", "# got 834"},
		{"what stands below a colon", "AssertionError: they are not equal:\n\n1207 !== 1270\n", "AssertionError: they are not equal:\n\n1207 !== 1270"},
		{"terraform", "│ Error: gone\n", "│ Error: gone"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := logged(t, filler(0, 500)+decoys(100)+"\n"+tt.lines+"\n"+filler(0, 500))
			found, _ := s.AllHighlights(s.Read(0, headtail.Limits{Bytes: 500}, nil), len(tt.want))
			require.NotEmpty(t, found)
			require.Equal(t, tt.want, found[0].Text)
		})
	}
}

// Two lines that end with a colon are of one kind only if the lines after them
// are.
func TestHighlightsOfWhatFollows(t *testing.T) {
	t.Parallel()
	s := logged(t, filler(0, 500)+"panicked at a.rs:1:2:\nindex out of range\n\npanicked at b.rs:3:4:\nit is None\n\npanicked at b.rs:5:6:\nit is None\n\n"+filler(0, 500))
	found, _ := s.AllHighlights(s.Read(0, headtail.Limits{Bytes: 500}, nil), 1<<10)
	require.Len(t, found, 2)
	for i, want := range []string{"panicked at a.rs:1:2:\nindex out of range", "panicked at b.rs:3:4:\nit is None"} {
		require.Equal(t, want, found[i].Text)
		require.Equal(t, i, found[i].Count)
	}
}

// A line is found although its kind comes after more kinds than are told apart.
func TestHighlightsAfterManyKinds(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 26 * 26 * 26 {
		fmt.Fprintf(&b, "case error_%c%c%c ok\n", 'a'+i/26/26, 'a'+i/26%26, 'a'+i%26)
	}
	s := logged(t, filler(0, 500)+b.String()+"error: it is here\n\n"+b.String()+filler(0, 500))
	found, _ := s.AllHighlights(s.Read(0, headtail.Limits{Bytes: 500}, nil), 1<<10)
	require.Equal(t, "error: it is here", found[0].Text)
}

// A line that is shown is a highlight if the lines after it are not.
func TestHighlightsAtTheCut(t *testing.T) {
	t.Parallel()
	text := filler(0, 400) + "error: it is here\n  because of this\n  and that\n\n" + filler(0, 400)
	s := logged(t, text)
	for size := 400; size < len(text)-100; size += 29 {
		page := s.Read(0, headtail.Limits{Bytes: size}, nil)
		found, _ := s.AllHighlights(page, 1<<10)
		all := page.Text
		for _, h := range found {
			all += h.Text
		}
		for _, line := range []string{"error: it is here", "  because of this", "  and that"} {
			require.Contains(t, all, line, "%d", size)
		}
	}
}
