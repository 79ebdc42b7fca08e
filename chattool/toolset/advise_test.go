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

// Package advice tests its notes. This test is about the facts that a call
// passes to it.
func TestAdvised(t *testing.T) {
	t.Parallel()
	const (
		withheld = "Set on the host, but kept from commands by its environment policy, as secrets are: GH_TOKEN."
		several  = "Set on the host, but kept from commands by its environment policy, as secrets are: A, B, C, D, E and 2 more."
		piped    = "Without pipefail, exit_code is that of tail and does not tell whether `probe` succeeded."
	)
	secret := func(code int) procmgr.Output {
		out := exited("p1", code, "\n")
		out.Withheld = []string{"GH_TOKEN"}
		return out
	}
	many := secret(1)
	many.Withheld = strings.Fields("A B C D E F G")
	pipeline := exited("p1", 0, "x")
	pipeline.Process.Command = "probe | tail"
	requested := pipeline
	requested.Process.EndedBy = procmgr.CauseRequest
	for _, tt := range []struct {
		name            string
		out             procmgr.Output
		execute, output string // the note of each
	}{
		{"failed", secret(1), withheld, withheld},
		{"succeeded", secret(0), withheld, ""},
		{"many", many, several, several},
		{"pipeline", pipeline, piped, piped},
		{"ended on request", requested, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &fake{start: answerStart(tt.out), output: answerOutput(tt.out)}
			for tool, want := range map[string]string{"execute": tt.execute, "process_output": tt.output} {
				args := arguments(t, "command", "probe | tail")
				if tool == "process_output" {
					args = arguments(t, "process_id", "p1")
				}
				_, got := call(t, m, nil, tool, args)
				note, _ := got["note"].(string)
				require.True(t, strings.HasPrefix(note, want) && (want == "") == (note == ""), "%s: %s", tool, note)
			}
		})
	}
	t.Run("two of three", func(t *testing.T) {
		out := secret(127)
		out.Text = "Continue? [y/N] "
		_, got := call(t, &fake{start: answerStart(out)}, nil, "execute", `{"command":"deploy $GH_TOKEN"}`)
		require.Regexp(t, "^"+withheld+".*looks like a question", got["note"])
		require.NotContains(t, got["note"], "exit_code 127")
	})
	t.Run("without its ampersand", func(t *testing.T) {
		_, got := call(t, &fake{}, nil, "execute", `{"command":"probe | tail &"}`)
		require.Contains(t, got["note"], "The trailing & was taken off. The command has already ended. "+piped)
	})
}

func TestLogNote(t *testing.T) {
	t.Parallel()
	cuts := []headtail.Cut{{From: 1, To: 8, At: 1, Len: len("…")}}
	cut := &headtail.Truncation{OriginalBytes: 9, RetainedBytes: 2, OmittedBytes: 7, Strategy: "head_tail", Cuts: cuts}
	const more = `process_output {"process_id":"p1","since":1} reads on, and a larger max_output shows more; do not run the command again for that`
	for _, tt := range []struct {
		name, path, trouble string
		truncated           *headtail.Truncation
		want                string
		shown               bool
	}{
		{name: "all in the result", path: "/log"},
		{name: "cut", path: "/log", truncated: cut, shown: true,
			want: "all of it is in log_path; search it with grep -n -a PATTERN FILE. " + more},
		{name: "long lines", path: "/log", truncated: &headtail.Truncation{OriginalBytes: 9, RetainedBytes: 2, OmittedBytes: 7, TruncatedLines: 1, Strategy: "head_tail", Cuts: cuts}, shown: true,
			want: `all of it is in log_path; search it with grep -n -a -b -o 'PATTERN.\{0,200\}' FILE. ` + more},
		{name: "full disk", path: "/log", trouble: "no space left on device", truncated: cut, shown: true,
			want: "only the beginning of it is in log_path (no space left on device); search that with grep -n -a PATTERN FILE. " + more},
		{name: "a log without a byte", trouble: "nothing could be written: no space left on device", truncated: cut, want: "without a log (nothing could be written: no space left on device), the middle of a long output is not kept. " + more},
		{name: "a server that does not tell where", path: "/log", truncated: &headtail.Truncation{OriginalBytes: 9, RetainedBytes: 2, OmittedBytes: 7, Strategy: "head_tail"}, shown: true,
			want: "all of it is in log_path; search it with grep -n -a PATTERN FILE"},
		{name: "no log", truncated: cut, want: "without a log, the middle of a long output is not kept; the host's LogDir would keep it, and show here what looks like trouble in it. " + more},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := exited("p1", 0, "a…z")
			out.Process.LogPath, out.Process.LogError, out.Truncated = tt.path, tt.trouble, tt.truncated
			_, got := call(t, &fake{start: answerStart(out)}, nil, "execute", `{"command":"x"}`)
			note, _ := got["note"].(string)
			require.Equal(t, tt.want, note)
			require.Equal(t, tt.shown, got["log_path"] == tt.path && tt.path != "")
		})
	}
}

// A Set that knows the tools for files names the call, and in the directory of the
// command.
func TestFilesHint(t *testing.T) {
	t.Parallel()
	opts := &toolset.Options{Files: toolset.FileTools{Read: "view", ReadCall: func(path string, offset int64) string {
		return fmt.Sprintf("view(%s, %d)", path, offset)
	}}}
	_, got := call(t, &fake{}, opts, "execute", `{"command":"sed -n 120,160p main.go"}`)
	require.Equal(t, `To read files use view(main.go, 120): it shows more of a file and costs less.`, got["note"])
	_, got = call(t, &fake{}, opts, "execute", `{"command":"cat main.go","workdir":"/srv"}`)
	require.Equal(t, `To read files use view(/srv/main.go, 0): it shows more of a file and costs less.`, got["note"])
	dump := exited("p1", 0, "x\n")
	dump.Process.Command = "cat f"
	res, _ := call(t, &fake{output: answerOutput(dump)}, opts, "process_output", `{"process_id":"p1"}`)
	require.NotContains(t, res.Content, "view", "it is read again")
	res, _ = call(t, &fake{start: answerStart(exited("p1", 1, "x\n"))}, opts, "execute", `{"command":"cat f"}`)
	require.NotContains(t, res.Content, "view", "it has failed")
	res, _ = call(t, &fake{}, opts, "execute", `{"command":"cat f &"}`)
	require.NotContains(t, res.Content, "view")
	_, got = call(t, &fake{}, opts, "execute", `{"command":"cat a b"}`)
	require.Equal(t, "To read files use the view tool: it shows more of a file and costs less.", got["note"])
	_, got = call(t, &fake{}, nil, "execute", `{"command":"cat main.go"}`)
	require.NotContains(t, got, "note", "no tool is named unless the host names one")
}

// A host's notes stand behind the Set's, and one that panics costs no result.
func TestAdvise(t *testing.T) {
	t.Parallel()
	out := exited("p1", 1, "denied\n")
	opts := &toolset.Options{Advise: func(r toolset.Report) []string {
		require.Equal(t, out.Text, *r.Output)
		return []string{"Of 100% of " + r.Process.ID, "and more"}
	}}
	m := &fake{start: answerStart(out), output: answerOutput(out)}
	_, got := call(t, m, opts, "execute", `{"command":"x"}`)
	require.Equal(t, "Of 100% of p1. and more", got["note"])
	_, got = call(t, m, opts, "process_output", `{"process_id":"p1"}`)
	require.Contains(t, got["note"], "Of 100% of p1")
	opts.Advise = func(toolset.Report) []string { panic("host") }
	_, got = call(t, m, opts, "execute", `{"command":"x"}`)
	require.Equal(t, "denied\n", got["output"])
	require.NotContains(t, got, "note")
}
