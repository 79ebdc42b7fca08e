//go:build linux || darwin || freebsd

package toolset_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
)

const loopTokens = "testdata/loops/tokens.txt"

// mostOfLoops is how much of the tokens of today the repeats may take, in percent.
const mostOfLoops = 25

// A recordedRun is one run of a recorded loop.
type recordedRun struct {
	code   int
	start  time.Time // zero if no line begins with a time
	wanted []string
	text   string
}

// recordedLoop reads a loop, in the form that record.sh writes.
func recordedLoop(t *testing.T, path string) (runs []recordedRun) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	for line := range strings.Lines(string(data)) {
		if code, ok := strings.CutPrefix(line, "%run "); ok {
			code, start, ok := strings.Cut(strings.TrimSpace(code), " ")
			n, err := strconv.Atoi(code)
			require.NoError(t, err)
			runs = append(runs, recordedRun{code: n})
			if ok {
				runs[len(runs)-1].start, err = time.Parse(time.RFC3339, start)
				require.NoError(t, err)
			}
			continue
		}
		last := &runs[len(runs)-1]
		if want, ok := strings.CutPrefix(line, "%want "); ok {
			last.wanted = append(last.wanted, strings.TrimSuffix(want, "\n"))
		} else {
			last.text += line
		}
	}
	require.Len(t, runs, 6)
	return runs
}

const recordedTime = "2006-01-02T15:04:05.000Z"

var recordedTimes = regexp.MustCompile(`(?m)^[ +-]?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)`)

// now returns the text of a run that was recorded as if it had started now, and notes
// the recorded time of each one in it.
func (run recordedRun) now(t *testing.T, was map[string]string) string {
	t.Helper()
	if run.start.IsZero() {
		return run.text
	}
	moved := time.Since(run.start)
	return recordedTimes.ReplaceAllStringFunc(run.text, func(text string) string {
		at, err := time.Parse(recordedTime, text)
		require.NoError(t, err)
		now := at.Add(moved).UTC().Format(recordedTime)
		was[now] = text
		return now
	})
}

// replay runs a loop, and returns the results with the times that were recorded.
func replay(t *testing.T, runs []recordedRun, opts toolset.Options) (results []toolset.Result) {
	t.Helper()
	l := newLoop(t, opts)
	ids := 0
	was := map[string]string{}
	var times []string
	opts.ProcessID = func(context.Context, toolset.Call) string { ids++; return fmt.Sprintf("n%dfkq7zt2m", ids) }
	set := newSet(toolset.Static(&steady{Manager: l.chat, dir: "/srv/app", path: "/var/lib/agent/19-%s.log"}), &opts)
	for _, run := range runs {
		l.prints(run.now(t, was), run.code)
		res := set.Call(t.Context(), toolset.Call{Name: "execute", Arguments: json.RawMessage(arguments(t, "command", printOut, "timeout", "2m"))})
		require.Equal(t, run.code, *res.Report.ExitCode)
		times = times[:0]
		for now, then := range was {
			times = append(times, now, then)
		}
		res.Content = strings.NewReplacer(times...).Replace(res.Content)
		results = append(results, res)
	}
	return results
}

// Recorded loops of an edit and a run, five times, cost a fourth of what they cost
// with whole results, and no line is lost that a reader looks for.
func TestLoops(t *testing.T) {
	paths, err := filepath.Glob("testdata/loops/*.txt")
	require.NoError(t, err)
	type measured struct {
		name        string
		short, long []string // the results of the repeats
	}
	var all []measured
	var texts []string
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		if name == "tokens" {
			continue
		}
		runs := recordedLoop(t, path)
		for _, format := range []toolset.Format{toolset.FormatJSON, toolset.FormatText} {
			m := measured{name: name}
			short := replay(t, runs, toolset.Options{Format: format})
			byID := map[string]toolset.Result{}
			for i, res := range short {
				byID[res.Output.Process.ID] = res
				for _, want := range runs[i].wanted {
					if reads(res, want) {
						continue
					}
					require.NotNil(t, res.Report.Earlier, "%s, run %d: %q is lost:\n%s", name, i+1, want, res.Content)
					earlier := byID[res.Report.Earlier.ID]
					require.True(t, reads(earlier, want), "%s, run %d: %q is neither here nor in %s:\n%s", name, i+1, want, res.Report.Earlier.ID, res.Content)
					require.NotContains(t, removed(res), want, "%s, run %d", name, i+1)
				}
				if i > 0 {
					m.short = append(m.short, res.Content)
				}
			}
			for _, res := range replay(t, runs, toolset.Options{Format: format, Whole: true})[1:] {
				m.long = append(m.long, res.Content)
			}
			all = append(all, m)
			texts = append(append(texts, m.short...), m.long...)
		}
	}
	require.Len(t, all, 2*10)
	tok := loadTokenizerAt(t, loopTokens)
	tok.learn(t, texts)
	short, long := 0, 0
	for _, m := range all {
		s, l := 0, 0
		for i := range m.short {
			s, l = s+tok.count(t, m.short[i]), l+tok.count(t, m.long[i])
		}
		t.Logf("%-10s %6d of %6d tokens, %2d %%", m.name, s, l, 100*s/l)
		short, long = short+s, long+l
	}
	t.Logf("%-10s %6d of %6d tokens, %2d %%", "all", short, long, 100*short/long)
	tok.save(t, func(string) bool { return false })
	require.LessOrEqual(t, 100*short, mostOfLoops*long)
}

// reads reports whether a model can read a text in the output of a result, as one
// that is there now.
func reads(res toolset.Result, want string) bool {
	if res.Report.Output == nil {
		return false
	}
	hunks, last := "", *res.Report.Output
	if res.Report.Changes != nil {
		hunks, last, _ = strings.Cut(last, "\n... [the last ")
	}
	for line := range strings.Lines(hunks) {
		if line[0] != '-' && strings.Contains(line[1:], want) {
			return true
		}
	}
	return strings.Contains(last, want)
}

// removed returns the lines that a result says have gone.
func removed(res toolset.Result) string {
	var b strings.Builder
	if res.Report.Changes != nil {
		for line := range strings.Lines(res.Report.Changes.Text) {
			if line[0] == '-' {
				b.WriteString(line)
			}
		}
	}
	return b.String()
}
