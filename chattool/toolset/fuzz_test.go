package toolset_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/chattool/toolset/internal/script"
	"github.com/toolproc/toolproc/procmgr"
)

// FuzzCall checks that no call panics, whatever a model sends and a command prints, and that
// what runs is what a plain decoder reads as the command, at most without one &.
func FuzzCall(f *testing.F) {
	for _, seed := range [][3]string{
		{"execute", `{"command":"ls &","timeout":"30","workdir":"/","run_in_background":"true"}`, ""},
		{"execute", `"{\"command\":\"cat f\"}"`, "x\n"},
		{"execute", `{"command":"x","timeout":120000}`, ""},
		{"execute", `{"command":"cd / && { probe a | probe b; } 2>&1 | tail -n 5 # c & d"}`, "x\n"},
		{"execute", `{"command":"npm init < f; coproc cat <<EOF &\na & b\nEOF\n"}`, "ok? [y/N] "},
		{"process_output", `{"process_id":"a","wait_timeout":1.5,"since":"7","wait_for":"x"}`, ""},
		{"process_list", `null`, ""},
		{"process_signal", `{"process_id":" a ","signal":"SIGKILL"}`, ""},
		{"other", `[]`, ""},
	} {
		f.Add(seed[0], []byte(seed[1]), 0, seed[2])
		f.Add(seed[0], []byte(seed[1]), 137, seed[2])
	}
	f.Fuzz(func(t *testing.T, tool string, arguments []byte, code int, printed string) {
		for _, shell := range []string{"", "sh", "zsh"} {
			m := &fake{start: func(_ context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
				out := exited(req.ID, code, printed)
				out.Process.Command = req.Command
				return out, nil
			}}
			set := newSet(toolset.Static(m), &toolset.Options{Shell: shell, Files: toolset.FileTools{Read: "view"}})
			res := set.Call(t.Context(), toolset.Call{Name: tool, Arguments: arguments})
			success, _ := contents(t, res)["success"].(bool)
			require.False(t, res.IsError && success, "a tool error and a success: %s", res.Content)
			if strings.Contains(res.Report.Error, "failed unexpectedly") && !strings.Contains(string(arguments), "unexpectedly") {
				t.Fatalf("a panic: %s", res.Content)
			}
			if len(m.starts) == 0 {
				continue
			}
			require.True(t, tool == "execute" && !res.IsError && len(m.starts) == 1, "%d starts, and %s", len(m.starts), res.Content)
			want, ok := commandOf(arguments)
			got := m.starts[0].Command
			if !ok || got == want {
				continue
			}
			found := false
			for i := range want {
				if want[i] == '&' {
					found = found || got == want[:i]+want[i+1:] || got == want[:i]+" "+want[i+1:]
				}
			}
			require.True(t, found && script.Parse(got, shell) != nil, "ran %q, was asked for %q", got, want)
		}
	})
}

// commandOf returns the command by encoding/json alone.
func commandOf(arguments []byte) (string, bool) {
	var inner string
	if json.Unmarshal(arguments, &inner) == nil {
		arguments = []byte(inner)
	}
	var plain map[string]any
	if json.Unmarshal(arguments, &plain) != nil {
		return "", false
	}
	command, ok := plain["command"].(string)
	return command, ok
}
