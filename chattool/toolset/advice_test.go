package toolset_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

func TestWithheld(t *testing.T) {
	t.Parallel()
	const one = "GH_TOKEN is set on the host, but its environment policy keeps it from commands, as it does with secrets; if the command needs it, the user can allow it."
	for _, tt := range []struct {
		name     string
		out      procmgr.Output
		withheld []string
		execute  string
		output   string // of process_output
	}{
		{name: "none", out: exited("p1", 1, "")},
		{name: "failed", out: exited("p1", 1, ""), withheld: []string{"GH_TOKEN"}, execute: one, output: one},
		{name: "an echo of it", out: exited("p1", 0, "\n"), withheld: []string{"GH_TOKEN"}, execute: one},
		{name: "two", out: exited("p1", 1, ""), withheld: []string{"A_KEY", "B_KEY"}, execute: "A_KEY, B_KEY are set on the host", output: "keeps them from"},
		{name: "many", out: exited("p1", 1, ""), withheld: strings.Fields("A B C D E F G"), execute: "A, B, C, D, E and 2 more are set", output: "and 2 more"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.out.Process.Withheld = tt.withheld
			m := &fake{start: answerStart(tt.out), output: answerOutput(tt.out)}
			for tool, want := range map[string]string{"execute": tt.execute, "process_output": tt.output} {
				args := arguments(t, "command", "x")
				if tool == "process_output" {
					args = arguments(t, "process_id", "p1")
				}
				_, got := call(t, m, nil, tool, args)
				note, _ := got["note"].(string)
				require.Contains(t, note, want)
				require.Equal(t, want == "", note == "")
			}
		})
	}
}

func TestLogNote(t *testing.T) {
	t.Parallel()
	cut := &headtail.Truncation{OriginalBytes: 9, RetainedBytes: 2, OmittedBytes: 7, Strategy: "head_tail"}
	for _, tt := range []struct {
		name, path, trouble string
		truncated           *headtail.Truncation
		want                string
		shown               bool
	}{
		{name: "all in the result", path: "/log"},
		{name: "cut", path: "/log", truncated: cut, shown: true,
			want: "All of the output is in /log; search it (grep -n -a PATTERN /log) instead of running the command again."},
		{name: "long lines", path: "/log", truncated: &headtail.Truncation{OriginalBytes: 9, RetainedBytes: 2, OmittedBytes: 7, TruncatedLines: 1, Strategy: "head_tail"}, shown: true,
			want: `All of the output is in /log; search it (grep -n -a -b -o 'PATTERN.\{0,200\}' /log) instead of running the command again.`},
		{name: "quoted", path: "/my logs/it's", truncated: cut, shown: true,
			want: `All of the output is in /my logs/it's; search it (grep -n -a PATTERN "/my logs/it's") instead of running the command again.`},
		{name: "full disk", path: "/log", trouble: "no space left on device", truncated: cut, shown: true,
			want: "The file log_path has only the beginning of the output: no space left on device."},
		{name: "no log", truncated: cut},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out := exited("p1", 0, "a…z")
			out.Process.LogPath, out.Process.LogError, out.Truncated = tt.path, tt.trouble, tt.truncated
			_, got := call(t, &fake{start: answerStart(out)}, nil, "execute", `{"command":"x"}`)
			note, _ := got["note"].(string)
			require.Equal(t, tt.want, note)
			require.Equal(t, tt.shown, got["log_path"] == tt.path && tt.path != "")
		})
	}
}

// However much there would be to say, no more than two things are.
func TestAdviceIsShort(t *testing.T) {
	t.Parallel()
	out := running("p1", "Continue? [y/N] ")
	out.Process.StartedAt = time.Now().Add(-time.Minute)
	out.Process.Withheld = []string{"GH_TOKEN"}
	out.Process.LogPath = "/log"
	out.Truncated = &headtail.Truncation{OriginalBytes: 9, RetainedBytes: 2, OmittedBytes: 7, Strategy: "head_tail"}
	m := &fake{start: answerStart(out)}
	_, got := call(t, m, fixed(), "execute", arguments(t, "command", "sleep 60; deploy $GH_TOKEN", "timeout", "1m"))
	note := got["note"].(string)
	require.Contains(t, note, "Do not run the command again")
	require.Contains(t, note, "grep -n -a PATTERN /log")
	require.Contains(t, note, "GH_TOKEN")
	require.Contains(t, note, "looks like a question")
	require.NotContains(t, note, "without sleep")
	require.Less(t, len(note), 900)
}

// What stands in the way of a result comes without advice.
func TestNoAdvice(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	m := &fake{
		start: func(context.Context, procmgr.StartRequest) (procmgr.Output, error) {
			cancel()
			return running("p1", "Continue? "), context.Canceled
		},
		output: answerOutput(exited("p1", 143, "Continue? ")),
	}
	_, got := callContext(ctx, t, m, fixed(), "execute", `{"command":"sleep 100"}`)
	require.Contains(t, got["error"], "canceled")
	require.NotContains(t, got, "note")
}
