package toolset_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/chattool/toolset/internal/script"
)

func FuzzCall(f *testing.F) {
	for _, seed := range [][2]string{
		{"execute", `{"command":"ls &","timeout":"30","workdir":"/","run_in_background":"true"}`},
		{"execute", `"{\"command\":\"cat f\"}"`},
		{"execute", `{"command":"x","timeout":120000}`},
		{"process_output", `{"process_id":"a","wait_timeout":1.5,"since":"7","wait_for":"x"}`},
		{"process_list", `null`},
		{"process_signal", `{"process_id":" a ","signal":"SIGKILL"}`},
		{"other", `[]`},
	} {
		f.Add(seed[0], []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, tool string, arguments []byte) {
		m := &fake{}
		res := newSet(toolset.Static(m), nil).Call(t.Context(), toolset.Call{Name: tool, Arguments: arguments})
		var content map[string]any
		if err := json.Unmarshal([]byte(res.Content), &content); err != nil {
			t.Fatalf("%q is no JSON object: %v", res.Content, err)
		}
		if strings.Contains(res.Content, "\n") {
			t.Fatalf("%q has several lines", res.Content)
		}
		if strings.Contains(res.Content, "failed unexpectedly") && !strings.Contains(string(arguments), "unexpectedly") {
			t.Fatalf("a panic: %s", res.Content)
		}
		if success, _ := content["success"].(bool); res.IsError && success {
			t.Fatalf("a tool error and a success: %s", res.Content)
		}
		if len(m.starts) > 0 && (tool != "execute" || res.IsError || len(m.starts) > 1) {
			t.Fatalf("%d starts, and %s", len(m.starts), res.Content)
		}
		// What runs is what a plain decoder reads as the command, at most
		// without one &.
		if len(m.starts) == 1 {
			if want, ok := commandOf(arguments); ok {
				got := m.starts[0].Command
				without, ok := script.Parse(want, "").WithoutAmpersand(false)
				if got != want && (!ok || got != without) {
					t.Fatalf("ran %q, was asked for %q", got, want)
				}
			}
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
