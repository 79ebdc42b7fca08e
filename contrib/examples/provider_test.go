package examples_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// An api is a provider's form of requests and answers.
type api struct {
	program, path string
	url, key      string // the variables that name the endpoint and the key
	cut           string // why an answer ended that was cut off
	schema        string // the schema of a tool, in a request
	// result is the text of the newest result, and whether it has an error flag.
	result func(body []byte) (text string, failed bool)
	answer func(s step, stop string) any
}

// A step is an answer of the model, and what the result before it has to be.
type step struct {
	want      string // a pattern
	failed    bool
	tool      string // "" is the last answer
	arguments map[string]any
}

const words = "The build failed with exit code 3."

// script is a conversation in which the model asks for a process that isn't there, and then
// runs a command that fails.
var script = []step{
	{tool: "process_output", arguments: map[string]any{"process_id": "nosuchproc"}},
	{want: "nosuchproc", failed: true, tool: "execute", arguments: map[string]any{"command": "echo built; exit 3"}},
	{want: `built[\s\S]*exit_code\W+3\b`},
}

// serve plays some steps. At the end of the test all of them have to be over.
func (a api) serve(t *testing.T, steps []step, stop string) (url string) {
	t.Helper()
	var mu sync.Mutex // guards next
	next := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != a.path || next == len(steps) || strings.Count(string(body), a.schema) < 4 {
			t.Errorf("request %d: %s: %v: %s", next, r.URL, err, body)
			http.Error(w, "no such request is in the script", http.StatusBadRequest)
			return
		}
		s := steps[next]
		text, failed := a.result(body)
		if !regexp.MustCompile(s.want).MatchString(text) || failed != s.failed && a.program == "anthropic" {
			t.Errorf("request %d: the result is %q, with the error flag %t, and not %q", next, text, failed, s.want)
		}
		next++
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(a.answer(s, stop)) // on an error the program complains
	}))
	t.Cleanup(func() {
		server.Close()
		if next != len(steps) {
			t.Errorf("the conversation ended after %d of %d answers", next, len(steps))
		}
	})
	return server.URL
}

var apis = []api{
	{
		program: "openai", path: "/v1/chat/completions", url: "OPENAI_BASE_URL", key: "OPENAI_API_KEY", cut: "length", schema: `"parameters"`,
		result: func(body []byte) (string, bool) {
			var in struct {
				Messages []struct{ Role, Content string }
			}
			_ = json.Unmarshal(body, &in) // a text that isn't there matches no step
			last := in.Messages[len(in.Messages)-1]
			if last.Role != "tool" {
				return "", false
			}
			return last.Content, false
		},
		answer: func(s step, stop string) any {
			message, finish := map[string]any{"role": "assistant", "content": words}, "stop"
			if s.tool != "" {
				arguments, _ := json.Marshal(s.arguments)
				finish, message = "tool_calls", map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{
					"id": "call", "type": "function", "function": map[string]any{"name": s.tool, "arguments": string(arguments)},
				}}}
			}
			if stop != "" {
				finish = stop
			}
			return map[string]any{
				"id": "1", "object": "chat.completion", "created": 1700000000, "model": "m",
				"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish, "logprobs": nil}},
			}
		},
	},
	{
		program: "anthropic", path: "/v1/messages", url: "ANTHROPIC_BASE_URL", key: "ANTHROPIC_API_KEY", cut: "max_tokens", schema: `"input_schema"`,
		result: func(body []byte) (text string, failed bool) {
			var in struct {
				Messages []struct{ Content json.RawMessage }
			}
			var blocks []struct {
				Type    string
				Content []struct{ Text string }
				IsError bool `json:"is_error"`
			}
			_ = json.Unmarshal(body, &in) // a text that isn't there matches no step
			_ = json.Unmarshal(in.Messages[len(in.Messages)-1].Content, &blocks)
			for _, block := range blocks {
				if block.Type == "tool_result" {
					text, failed = fmt.Sprint(block.Content), block.IsError
				}
			}
			return text, failed
		},
		answer: func(s step, stop string) any {
			block, finish := map[string]any{"type": "text", "text": words}, "end_turn"
			if s.tool != "" {
				block, finish = map[string]any{"type": "tool_use", "id": "call", "name": s.tool, "input": s.arguments}, "tool_use"
			}
			if stop != "" {
				finish = stop
			}
			return map[string]any{"id": "1", "type": "message", "role": "assistant", "model": "m", "content": []any{block}, "stop_reason": finish}
		},
	},
}
