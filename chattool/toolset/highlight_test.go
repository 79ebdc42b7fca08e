package toolset_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

// One request gets a long output with its highlights, each by its line, or by its offset if
// the line isn't known.
func TestHighlightsInOneRequest(t *testing.T) {
	t.Parallel()
	out := exited("p1", 1, "a\n…z\n")
	out.Truncated = &headtail.Truncation{OriginalBytes: 20004, RetainedBytes: 4, OmittedBytes: 20000, Cuts: []headtail.Cut{{From: 2, To: 20002, At: 2, Len: len("…")}}}
	out.Highlights = []procmgr.Highlight{{Offset: 16000, Text: "error: x\n  y"}, {Line: 600, Offset: 9000, Text: "error: z\n  y", Count: 2}}
	m := &fake{start: answerStart(out)}
	res := ask(t, m, nil, "execute", `{"command":"make"}`)
	require.Contains(t, res.Content, "600: error: z ... [2 more like it]\n601:   y\nbyte 16000: error: x\n    y\n")
	require.Len(t, res.Report.Highlights, 2)
	require.Empty(t, m.outputs)
}
