package toolset_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
)

// troubledPrinter is a printer of a failed command with a log, whose answers have
// highlights if they are asked for.
func troubledPrinter(t *testing.T, found []procmgr.Highlight) *fake {
	t.Helper()
	m := printer(t, []byte(numbered(32<<10)), 1<<20)
	with := func(out procmgr.Output, highlight int) procmgr.Output {
		out.Process.ExitCode, out.Process.LogPath = new(1), "/log"
		if highlight > 0 && out.Truncated != nil {
			out.Highlights = found
		}
		return out
	}
	start, output := m.start, m.output
	room := func(limit *int, highlight int) {
		for _, h := range found {
			if highlight -= len(h.Text); highlight > 0 {
				*limit = max(*limit-len(h.Text)-32, 1)
			}
		}
	}
	m.start = func(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
		room(&req.Limit.Bytes, req.Highlight)
		out, err := start(ctx, req)
		return with(out, req.Highlight), err
	}
	m.output = func(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
		room(&req.Limit.Bytes, req.Highlight)
		out, err := output(ctx, id, req)
		return with(out, req.Highlight), err
	}
	return m
}

// One request gets a long output with its highlights.
func TestHighlightsInOneRequest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		command string
		found   []procmgr.Highlight
		want    string
	}{
		{"make", nil, ""},
		{"make", []procmgr.Highlight{{Line: 600, Offset: 16000, Text: "error: x\n  y", Count: 2}}, "600: error: x ... [2 more like it]\n601:   y\n"},
		{"make", []procmgr.Highlight{{Offset: 16000, Text: "error: x\n  y"}}, "byte 16000: error: x\n    y\n"},
		{"cat a.txt", nil, ""},
	} {
		m := troubledPrinter(t, tt.found)
		res := ask(t, m, nil, "execute", arguments(t, "command", tt.command))
		require.Contains(t, res.Content, tt.want)
		require.Greater(t, len(res.Content), 15000)
		require.Len(t, res.Report.Highlights, len(tt.found))
		require.Equal(t, tt.command == "make", m.starts[0].Highlight > 0)
		require.Empty(t, m.outputs)
	}
}
