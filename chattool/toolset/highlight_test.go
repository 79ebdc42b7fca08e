package toolset_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// troubled prints lines of which one in the middle tells of trouble, and 50
// more of the same kind.
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
			set := toolset.New(toolset.Static(local.Chat("a")), &toolset.Options{Format: format})
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

// A result is no worse if there are no highlights to be had.
func TestHighlightsAreNotNeeded(t *testing.T) {
	t.Parallel()
	text := numbered(32 << 10)
	cut := exited("p1", 1, text)
	for _, tt := range []struct {
		name, log string
		output    func(context.Context, string, procmgr.OutputRequest) (procmgr.Output, error)
		asked     bool
		note      string
	}{
		{"no log", "", nil, false, "the host's LogDir would keep it"},
		{"an older server", "/log", func(context.Context, string, procmgr.OutputRequest) (procmgr.Output, error) {
			return procmgr.Output{}, errors.New("the query has \"highlight\", which this endpoint does not know")
		}, true, ""},
		{"none found", "/log", answerOutput(cut), true, ""},
		{"not all searched", "/log", answerOutput(procmgr.Output{Unscanned: 1234567}), true, "1,234,567 bytes of the middle were not searched for trouble"},
		{"of what was printed since", "/log", answerOutput(procmgr.Output{Highlights: []procmgr.Highlight{{Offset: 1 << 20, Text: "error"}}}), true, ""},
		{"of what is shown", "/log", answerOutput(procmgr.Output{Highlights: []procmgr.Highlight{{Offset: 0, Text: "line 0 of a log, as long as most"}}}), true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out := cut
			out.Process.LogPath = tt.log
			m := &fake{start: answerStart(out), output: tt.output}
			res := ask(t, m, nil, "execute", `{"command":"x"}`)
			require.NotContains(t, *res.Report.Output, "of these, by line")
			require.Empty(t, res.Report.Highlights)
			require.Greater(t, len(res.Content), 15500)
			require.Contains(t, res.Content, tt.note)
			require.Equal(t, tt.asked, len(m.outputs) > 0)
			for _, req := range m.outputs {
				require.Positive(t, req.Highlight)
				require.Zero(t, req.Wait)
			}
		})
	}
}

// Highlights take at most a third of a budget, and 8 KiB.
func TestHighlightsAreFew(t *testing.T) {
	t.Parallel()
	out := exited("p1", 1, numbered(32<<10))
	out.Process.LogPath = "/log"
	var many []procmgr.Highlight
	for i := range 2000 {
		many = append(many, procmgr.Highlight{Offset: 16_000 + int64(i)/4, Text: fmt.Sprintf("error: \"kind\" %d\nnext line", i), Count: i})
	}
	for _, tokens := range []int{500, 4000, 16000} {
		for _, format := range []toolset.Format{toolset.FormatJSON, toolset.FormatText} {
			for _, found := range [][]procmgr.Highlight{nil, many[:1], many} { // a slow disk: not all was searched
				m := &fake{start: answerStart(out), output: answerOutput(procmgr.Output{Highlights: found, Unscanned: 12_345_678})}
				res := toolset.New(toolset.Static(m), &toolset.Options{Format: format}).Call(t.Context(),
					toolset.Call{Name: "execute", Arguments: []byte(fmt.Sprintf(`{"command":"x","max_output":%d}`, tokens))})
				require.LessOrEqual(t, len(res.Content), 2*tokens)
				require.Contains(t, res.Content, "12,345,678 bytes of the middle")
			}
			m := &fake{start: answerStart(out), output: answerOutput(procmgr.Output{Highlights: many})}
			set := toolset.New(toolset.Static(m), &toolset.Options{Format: format})
			res := set.Call(t.Context(), toolset.Call{Name: "execute", Arguments: []byte(fmt.Sprintf(`{"command":"x","max_output":%d}`, tokens))})
			require.LessOrEqual(t, len(res.Content), 2*tokens)
			_, middle, ok := strings.Cut(*res.Report.Output, "... [of these, by line] ...\n")
			require.True(t, ok)
			middle, _, ok = strings.Cut(middle, "... [the end] ...\n")
			require.True(t, ok)
			require.LessOrEqual(t, len(middle), min(2*tokens/3, 8<<10))
			require.Contains(t, middle, `byte 16000: error: "kind" 0`)
		}
	}
}

// A result tells how much was not searched for the highlights that it shows, and
// not how much was not searched another time.
func TestUnscannedIsThatOfTheShown(t *testing.T) {
	t.Parallel()
	out := exited("p1", 1, numbered(32<<10))
	out.Process.LogPath = "/log"
	searches := 0
	m := &fake{start: answerStart(out), output: func(context.Context, string, procmgr.OutputRequest) (procmgr.Output, error) {
		searches++
		found := procmgr.Output{Truncated: &headtail.Truncation{Strategy: "head_tail"}}
		if searches == 1 {
			found.Unscanned = 1_234_567
		}
		for i := range 20 * searches { // more each time, so that there is no room for them in a longer text
			found.Highlights = append(found.Highlights, procmgr.Highlight{Line: 500 + i, Offset: 16_000 + 50*int64(i), Text: fmt.Sprintf("error %d", i)})
		}
		return found, nil
	}}
	res := ask(t, m, nil, "execute", `{"command":"x"}`)
	require.Greater(t, searches, 1)
	require.Len(t, res.Report.Highlights, 20)
	require.Contains(t, strings.Join(res.Report.Notes, " "), "1,234,567 bytes of the middle were not searched for trouble")
}
