//go:build linux || darwin || freebsd

package toolset_test

import (
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

// A reader runs one command and reads its output in results of other sizes.
type reader struct {
	sets map[toolset.Format]*toolset.Set
	id   string
}

func newReader(t *testing.T, command string) reader {
	t.Helper()
	local := newHost(t, &proclocal.Options{LogDir: filepath.Join(t.TempDir(), "logs")})
	m := local.Chat("a")
	r := reader{sets: make(map[toolset.Format]*toolset.Set)}
	for _, format := range []toolset.Format{toolset.FormatJSON, toolset.FormatText} {
		r.sets[format] = newSet(toolset.Static(m), &toolset.Options{Format: format})
	}
	arguments, err := json.Marshal(map[string]any{"command": command, "timeout": "60s"})
	require.NoError(t, err)
	res := r.sets[toolset.FormatJSON].Call(t.Context(), toolset.Call{Name: "execute", Arguments: arguments})
	require.False(t, res.IsError, res.Content)
	require.Equal(t, procmgr.Exited, res.Report.State)
	r.id = res.Output.Process.ID
	return r
}

// read returns a result of so many tokens. A machine may be too busy to search
// in time.
func (r reader) read(t *testing.T, format toolset.Format, tokens int) (res toolset.Result) {
	t.Helper()
	for began := time.Now(); time.Since(began) < time.Minute; {
		res = r.sets[format].Call(t.Context(), toolset.Call{Name: "process_output", Arguments: []byte(fmt.Sprintf(`{"process_id":%q,"since":0,"max_output":%d}`, r.id, tokens))})
		require.False(t, res.IsError, res.Content)
		require.LessOrEqual(t, len(res.Content), 2*tokens)
		size := 0
		for _, h := range res.Report.Highlights {
			size += len(h.Text)
		}
		require.LessOrEqual(t, size, min(2*tokens/3, 8<<10), "a third of the budget, and 8 KiB")
		if !strings.Contains(strings.Join(res.Report.Notes, " "), "not searched") &&
			!slices.ContainsFunc(res.Report.Highlights, func(h procmgr.Highlight) bool { return h.Line == 0 }) {
			break
		}
	}
	return res
}

// troubled prints many harmless lines, with one error in the middle and 50 more of the
// same kind.
const troubled = `i=0; while [ $i -lt 2000 ]; do echo "line $i is as it should be"; ` +
	`case $i in 1000) echo "main.go:7: error: x"; echo "  7 | y";; 1[1-5]?0) echo "main.go:$i: error: x";; esac; i=$((i+1)); done; exit 1`

// With a log, the first line of each kind of trouble stands between the
// beginning and the end of an output, by its number.
func TestLocalHighlights(t *testing.T) {
	t.Parallel()
	r := newReader(t, troubled)
	for _, format := range []toolset.Format{toolset.FormatJSON, toolset.FormatText} {
		for _, tokens := range []int{2000, 4000, 8000} {
			res := r.read(t, format, tokens)
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

// decoys prints 256 kinds of lines that only mention trouble, and one that tells
// of it after them.
const decoys = `seq 4000; for a in a b c d e f g h i j k l m n o p; do for b in a b c d e f g h i j k l m n o p; do ` +
	`echo "case error_$a$b ok"; done; done; echo "error: THE REAL ONE"; seq 4000; exit 1`

// However little room there is, the gravest line is shown, and the lines that
// are shown are in the order of the stream.
func TestLocalHighlightsKeepTheGravest(t *testing.T) {
	t.Parallel()
	r := newReader(t, decoys)
	for _, format := range []toolset.Format{toolset.FormatJSON, toolset.FormatText} {
		for _, tokens := range []int{600, 1000, 2000, 4000, 8000, 16000} {
			res := r.read(t, format, tokens)
			require.Contains(t, *res.Report.Output, "4257: error: THE REAL ONE\n", "%v, %d", format, tokens)
			require.True(t, slices.IsSortedFunc(res.Report.Highlights, func(a, b procmgr.Highlight) int { return int(a.Offset - b.Offset) }))
			_, middle, _ := strings.Cut(*res.Report.Output, "... [of these, by line] ...\n")
			middle, _, _ = strings.Cut(middle, "... [the end] ...\n")
			lines := 0
			for _, h := range res.Report.Highlights {
				for i, line := range strings.Split(h.Text, "\n") {
					require.Contains(t, middle, fmt.Sprintf("%d: %s", h.Line+i, line))
					lines++
				}
			}
			require.Equal(t, strings.Count(middle, "\n"), lines, "a report has what the text shows")
		}
	}
}
