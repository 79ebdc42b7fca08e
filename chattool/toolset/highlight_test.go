package toolset_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// troubled prints many harmless lines, with one error in the middle and 50 more of the
// same kind.
const troubled = `i=0; while [ $i -lt 2000 ]; do echo "line $i is as it should be"; ` +
	`case $i in 1000) echo "main.go:7: error: x"; echo "  7 | y";; 1[1-5]?0) echo "main.go:$i: error: x";; esac; i=$((i+1)); done; exit 1`

// With a log, the first line of each kind of trouble stands between the
// beginning and the end of an output, by its number.
func TestLocalHighlights(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	local := newHost(t, &proclocal.Options{LogDir: filepath.Join(dir, "logs")})
	for _, format := range []toolset.Format{toolset.FormatJSON, toolset.FormatText} {
		for _, tokens := range []int{2000, 4000, 8000} {
			set := newSet(toolset.Static(local.Chat("a")), &toolset.Options{Format: format})
			arguments, err := json.Marshal(map[string]any{"command": troubled, "timeout": "60s", "max_output": tokens})
			require.NoError(t, err)
			// A machine may be too busy to search in time.
			call := func(name string, arguments []byte) (res toolset.Result) {
				for began := time.Now(); time.Since(began) < time.Minute; {
					res = set.Call(t.Context(), toolset.Call{Name: name, Arguments: arguments})
					if notes := strings.Join(res.Report.Notes, " "); !strings.Contains(notes, "not searched") && len(res.Report.Highlights) > 0 && res.Report.Highlights[0].Line > 0 {
						break
					}
				}
				return res
			}
			ran := call("execute", arguments)
			read := call("process_output", []byte(fmt.Sprintf(`{"process_id":%q,"max_output":%d}`, ran.Output.Process.ID, tokens)))
			for _, res := range []toolset.Result{ran, read} {
				require.LessOrEqual(t, len(res.Content), 2*tokens)
				require.Greater(t, len(res.Content), 2*tokens*8/10, "highlights that need little room leave it to the text")
				require.Contains(t, *res.Report.Output, " bytes] ...\n\n... [of these, by line] ...\n1002: main.go:7: error: x ... [50 more like it]\n1003:   7 | y\n1004: line 1001 is as it should be\n... [the end] ...\n\n")
				require.True(t, strings.HasPrefix(*res.Report.Output, "line 0 "))
				require.True(t, strings.HasSuffix(*res.Report.Output, "line 1999 is as it should be\n"))
				require.Len(t, res.Report.Highlights, 1)
				require.Equal(t, 1002, res.Report.Highlights[0].Line)
			}
			require.NotContains(t, ran.Output.Text, "of these, by line", "a user interface gets what was printed")
		}
	}
}

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

// Highlights take at most a third of a budget, and 8 KiB, whatever a manager answers. They
// are shown in the order of the stream.
func TestHighlightsAreFew(t *testing.T) {
	t.Parallel()
	var many []procmgr.Highlight
	for i := range 2000 {
		many = append(many, procmgr.Highlight{Offset: 16_000 + int64(i)/4, Text: fmt.Sprintf("error: \"kind\" %d\nnext line", i), Count: i})
	}
	backward := slices.Clone(many[:20])
	slices.Reverse(backward)
	shown := ask(t, troubledPrinter(t, backward), nil, "execute", `{"command":"x"}`).Report.Highlights
	require.Len(t, shown, 20)
	require.True(t, slices.IsSortedFunc(shown, func(a, b procmgr.Highlight) int { return int(a.Offset - b.Offset) }))
	for _, tokens := range []int{500, 4000, 16000} {
		for _, format := range []toolset.Format{toolset.FormatJSON, toolset.FormatText} {
			for _, found := range [][]procmgr.Highlight{nil, many[:1], many} {
				m := troubledPrinter(t, found)
				res := newSet(toolset.Static(m), &toolset.Options{Format: format}).Call(t.Context(),
					toolset.Call{Name: "execute", Arguments: []byte(fmt.Sprintf(`{"command":"x","max_output":%d}`, tokens))})
				require.LessOrEqual(t, len(res.Content), 2*tokens)
				size := 0
				for _, h := range res.Report.Highlights {
					size += len(h.Text)
				}
				require.LessOrEqual(t, size, min(2*tokens/3, 8<<10))
				if found != nil {
					require.Contains(t, *res.Report.Output, `byte 16000: error: "kind" 0`)
				}
			}
		}
	}
}
