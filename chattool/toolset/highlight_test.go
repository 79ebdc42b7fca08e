//go:build linux || darwin || freebsd

package toolset_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

// With a log, the first line of each kind of trouble stands between the
// beginning and the end of an output, by its number.
func TestLocalHighlights(t *testing.T) {
	t.Parallel()
	var troubled strings.Builder // with one error in the middle and 50 more of the same kind
	for i := range 2000 {
		fmt.Fprintf(&troubled, "line %d is as it should be\n", i)
		switch {
		case i == 1000:
			troubled.WriteString("main.go:7: error: x\n  7 | y\n")
		case i > 1000 && i%10 == 0 && i <= 1500:
			fmt.Fprintf(&troubled, "main.go:%d: error: x\n", i)
		}
	}
	l := newLoop(t, toolset.Options{})
	m := &steady{Manager: l.chat, path: "/log"} // which gives a busy machine time to search
	l.prints(troubled.String(), 1)
	id := l.run().Output.Process.ID
	for _, format := range []toolset.Format{toolset.FormatJSON, toolset.FormatText} {
		l.set = newSet(toolset.Static(m), &toolset.Options{Format: format})
		for _, tokens := range []int{2000, 4000, 8000} {
			res := l.call("process_output", "process_id", id, "max_output", tokens)
			require.LessOrEqual(t, len(res.Content), 2*tokens)
			require.Greater(t, len(res.Content), 2*tokens*8/10, "highlights that need little room leave it to the text")
			require.Contains(t, *res.Report.Output, " bytes] ...\n\n... [of these, by line] ...\n1002: main.go:7: error: x ... [50 more like it]\n1003:   7 | y\n1004: line 1001 is as it should be\n... [the end] ...\n\n")
			require.True(t, strings.HasPrefix(*res.Report.Output, "line 0 "))
			require.True(t, strings.HasSuffix(*res.Report.Output, "line 1999 is as it should be\n"))
			require.Len(t, res.Report.Highlights, 1)
			require.Equal(t, 1002, res.Report.Highlights[0].Line)
			require.NotContains(t, res.Output.Text, "of these, by line", "a user interface gets what was printed")
		}
	}
}

// One request gets a long output with its highlights, each by its line, or by its offset if
// the line isn't known. However little room there is, the gravest one is shown.
func TestHighlightsInOneRequest(t *testing.T) {
	t.Parallel()
	out, long := exited("p1", 1, "a\n…z\n"), "error: "+strings.Repeat("x", 290)
	out.Truncated = &headtail.Truncation{OriginalBytes: 20004, RetainedBytes: 4, OmittedBytes: 20000, Cuts: []headtail.Cut{{From: 2, To: 20002, At: 2, Len: len("…")}}}
	out.Highlights = []procmgr.Highlight{{Offset: 16000, Text: long + "\n  y"}, {Line: 600, Offset: 9000, Text: "error: z\n  y", Count: 2}}
	m := &fake{start: answerStart(out)}
	res := ask(t, m, nil, "execute", `{"command":"make"}`)
	require.Contains(t, res.Content, "600: error: z ... [2 more like it]\n601:   y\nbyte 16000: "+long+"\n    y\n")
	require.Len(t, res.Report.Highlights, 2)
	require.Empty(t, m.outputs)
	res = ask(t, m, nil, "execute", `{"command":"make","max_output":420}`)
	require.Contains(t, res.Content, "... [of these, by line] ...\nbyte 16000: "+long+"\n    y\n... [the end] ...\n")
	require.Equal(t, out.Highlights[:1], res.Report.Highlights, "a report has what the text shows")
}
