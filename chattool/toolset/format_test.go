package toolset_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

// ask makes one call of a set whose results are text.
func ask(t testing.TB, m procmgr.Manager, opts *toolset.Options, tool, arguments string) toolset.Result {
	t.Helper()
	text := toolset.Options{}
	if opts != nil {
		text = *opts
	}
	text.Format = toolset.FormatText
	return newSet(toolset.Static(m), &text).Call(t.Context(), toolset.Call{Name: tool, Arguments: []byte(arguments)})
}

// The tools that read no output have a header and nothing else, or a table.
func TestTextWithoutOutput(t *testing.T) {
	t.Parallel()
	p := running("p1", "").Process
	p.Elapsed, p.Command = 5*time.Minute, "sleep 60\nexit 1"
	q := exited("p2", 3, "").Process
	q.Elapsed, q.Command = 49*time.Hour, "make"
	m := &fake{list: func(context.Context) ([]procmgr.Process, error) { return []procmgr.Process{p, q}, nil }}
	require.Equal(t, "2 processes\n---\np1  running  5m  sleep 60\\nexit 1\np2  exited 3  2d1h  make\n", ask(t, m, nil, "process_list", "{}").Content)
	require.Equal(t, "0 processes\n---\n", ask(t, &fake{}, nil, "process_list", "{}").Content)

	ended := exited("p1", 143, "bye")
	ended.Process.Signal = "SIGTERM"
	m = &fake{output: answerOutput(ended)}
	require.Equal(t, "exit code 143 · SIGTERM · 1.5s\nnote: Process p1 has ended, as it was asked to.",
		ask(t, m, nil, "process_signal", `{"process_id":"p1","signal":"kill"}`).Content)

	m = &fake{start: func(context.Context, procmgr.StartRequest) (procmgr.Output, error) {
		return procmgr.Output{}, errors.New("no route\n---\nexit code 0")
	}}
	res := ask(t, m, nil, "execute", `{"command":"x"}`)
	require.True(t, res.IsError)
	require.Contains(t, res.Content, "failed\nerror: nothing was started: no route\\n---\\nexit code 0.")
	require.Len(t, strings.Split(res.Content, "\n"), 2)
}

// The budget of a result counts all of it, in both formats.
func TestMaxOutput(t *testing.T) {
	t.Parallel()
	text := numbered(30 << 10)
	for _, tt := range []struct {
		arguments string
		tokens    int
		note      string
	}{
		{`{"command":"x"}`, 8000, ""},
		{`{"command":"x","max_output":2000}`, 2000, ""},
		{`{"command":"x","max_output":"2k"}`, 2000, ""},
		{`{"command":"x","max_output":"1.5K tokens"}`, 1500, ""},
		{`{"command":"x","max_output":"3,000"}`, 3000, ""},
		{`{"command":"x","max_output":""}`, 8000, ""},
		{`{"command":"x","max_output":100000}`, 16384, "max_output was cut from 100000 to the most allowed, 16384."},
	} {
		for _, format := range []toolset.Format{toolset.FormatJSON, toolset.FormatText} {
			m := printer(t, []byte(text), 1<<20)
			res := newSet(toolset.Static(m), &toolset.Options{Format: format}).Call(t.Context(), toolset.Call{Name: "execute", Arguments: []byte(tt.arguments)})
			require.LessOrEqual(t, len(res.Content), 2*tt.tokens)
			require.Greater(t, len(res.Content), min(2*tt.tokens, len(text))*9/10)
			require.Contains(t, strings.Join(res.Report.Notes, " "), tt.note)
			if tt.tokens < 10000 {
				require.NotNil(t, res.Report.Truncated)
				require.Contains(t, res.Content, "larger max_output")
			}
		}
	}
	for _, wrong := range []string{`0`, `-5`, `"many"`, `[1]`, `"NaN"`, `0.5`, `true`} {
		res, got := call(t, &fake{}, nil, "execute", `{"command":"x","max_output":`+wrong+`}`)
		require.True(t, res.IsError, wrong)
		require.Contains(t, got["error"], `want a number of tokens such as 4000 or "4k"`)
	}
	res, _ := call(t, printer(t, []byte(text), 1<<20), nil, "process_output", `{"process_id":"p1","max_output":1000}`)
	require.LessOrEqual(t, len(res.Content), 2000)
}

// An output that has its half of a small budget is not cut, and its log is not
// named.
func TestWholeInItsHalf(t *testing.T) {
	t.Parallel()
	out := exited("p1", 0, "\n---\nexit code 0\n---\n")
	out.Process.LogPath = "/var/lib/agent/19-5aymafeemy.log"
	for _, format := range []toolset.Format{toolset.FormatJSON, toolset.FormatText} {
		m := &fake{start: answerStart(out)}
		res := newSet(toolset.Static(m), &toolset.Options{Format: format}).Call(t.Context(), toolset.Call{Name: "execute", Arguments: []byte(`{"command":"x","max_output":26}`)})
		require.Equal(t, out.Text, *res.Report.Output)
		require.Nil(t, res.Report.Truncated)
		require.Empty(t, res.Report.LogPath)
		require.NotContains(t, res.Content, "5aymafeemy")
	}
}

func TestBinaryOutput(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, data string
		binary     bool
	}{
		{"NULs", strings.Repeat("\x00\x01\x02a", 75000), true},
		{"no UTF-8", strings.Repeat("\xff\xfe\x80", 100000), true},
		{"a third", strings.Repeat("ab\x01", 100000), true},
		{"a fourth", strings.Repeat("abc\x01", 75000), false},
		{"text", strings.Repeat("text\r\n\t", 10000), false},
		{"short", strings.Repeat("\x00", 50), false},
	} {
		for _, format := range []toolset.Format{toolset.FormatJSON, toolset.FormatText} {
			m := &fake{start: answerStart(printed(t, []byte(tt.data), 32<<10, headtail.Limits{}))}
			res := newSet(toolset.Static(m), &toolset.Options{Format: format}).Call(t.Context(), toolset.Call{Name: "execute", Arguments: []byte(`{"command":"x"}`)})
			note := strings.Join(res.Report.Notes, " ")
			if !tt.binary {
				require.NotContains(t, note, "binary", tt.name)
				continue
			}
			require.Contains(t, note, "binary, 300,000 bytes: write it to a file, or look with xxd", tt.name)
			require.LessOrEqual(t, len(*res.Report.Output), 512)
			require.NotEmpty(t, *res.Report.Output)
		}
	}
}

// numbered returns lines that all differ, of n bytes in all.
func numbered(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString("line " + strconv.Itoa(i) + " of a log, as long as most\n")
	}
	return b.String()[:n]
}

// A Report in JSON is what a model reads.
func TestReportJSON(t *testing.T) {
	t.Parallel()
	m := &fake{start: answerStart(exited("p1", 3, "a <b> & c\n")), output: answerOutput(running("p1", "x"))}
	for tool, arguments := range map[string]string{"execute": `{"command":"x"}`, "process_output": `{"process_id":"p1"}`, "process_list": `{}`, "none": `{}`} {
		res := newSet(toolset.Static(m), nil).Call(t.Context(), toolset.Call{Name: tool, Arguments: json.RawMessage(arguments)})
		encoded, err := json.Marshal(res.Report)
		require.NoError(t, err)
		require.JSONEq(t, res.Content, string(encoded))
	}
}
