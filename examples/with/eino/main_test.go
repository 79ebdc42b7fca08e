package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/examples/internal/exampletest"
	"github.com/toolproc/toolproc/examples/internal/scripted"
)

func TestMain(m *testing.M) { exampletest.Main(m) }

func TestConversation(t *testing.T) {
	tmp := exampletest.Scratch(t)
	t.Setenv("OPENAI_BASE_URL", scripted.Play(t, scripted.OpenAI)+"/v1")
	t.Setenv("OPENAI_API_KEY", "key")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	require.NoError(t, run(ctx, "Build it.", &out))
	require.Contains(t, out.String(), scripted.Words)
	exampletest.RequireNothingRuns(t, tmp)
}

// The page shows the program as it is.
func TestReadme(t *testing.T) {
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	program, err := os.ReadFile("main.go")
	require.NoError(t, err)
	blocks := strings.Split(string(page), "```go\n")
	require.Len(t, blocks, 2)
	block, _, closed := strings.Cut(blocks[1], "```")
	require.True(t, closed)
	require.Equal(t, string(program), block)
	require.Less(t, strings.Count(block, "\n"), 120)
}

// If ctx ends while a command runs, run returns, and the command does not go on.
func TestCancel(t *testing.T) {
	tmp := exampletest.Scratch(t)
	answer(t, "tool_calls", function("execute", `{"command":"touch \"$TMPDIR/one\"; exec sleep 1000","timeout":"10m"}`))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- run(ctx, "Wait.", io.Discard) }() // received below
	exampletest.WaitFor(t, filepath.Join(tmp, "one"))
	cancel()
	select {
	case err := <-done:
		require.ErrorIs(t, err, context.Canceled)
	case <-time.After(exampletest.Long):
		require.Fail(t, "run has not returned")
	}
	exampletest.RequireNothingRuns(t, tmp)
}

// A call in an answer that was cut off may be half of one, so it does not run.
func TestCutAnswer(t *testing.T) {
	tmp := exampletest.Scratch(t)
	answer(t, "length", function("execute", `{"command":"touch \"$TMPDIR/one\""}`))
	require.ErrorContains(t, run(t.Context(), "Go on.", io.Discard), "cut off: length")
	require.NoFileExists(t, filepath.Join(tmp, "one"))
}

// The words and the calls of an answer go back to the model, with a result for each
// call. The second call depends on the first one, and the third one has no tool.
func TestAnswerOfThreeCalls(t *testing.T) {
	exampletest.Scratch(t)
	bodies := answer(t, "tool_calls",
		function("execute", `{"command":"sleep 0.2; touch \"$TMPDIR/one\""}`),
		function("execute", `{"command":"ls \"$TMPDIR\""}`),
		function("bash", `{"command":"ls"}`))
	require.NoError(t, run(t.Context(), "Go on.", io.Discard))
	require.Len(t, *bodies, 2)
	var second struct {
		Messages []struct {
			Role, Content string
			ToolCallID    string            `json:"tool_call_id"`
			ToolCalls     []json.RawMessage `json:"tool_calls"`
		}
	}
	require.NoError(t, json.Unmarshal((*bodies)[1], &second))
	require.Len(t, second.Messages, 5)
	require.Equal(t, "I run it.", second.Messages[1].Content)
	require.Len(t, second.Messages[1].ToolCalls, 3)
	require.Equal(t, "call_0", second.Messages[2].ToolCallID)
	require.Equal(t, "call_1", second.Messages[3].ToolCallID)
	require.Contains(t, second.Messages[3].Content, `"output":"one\n"`)
	require.Equal(t, "call_2", second.Messages[4].ToolCallID)
	require.Contains(t, second.Messages[4].Content, "process_signal", "the tools that there are")
}

// The library has a type of its own for schemas, which loses nothing of one.
func TestSchema(t *testing.T) {
	for _, def := range toolset.New(toolset.Static(nil), &toolset.Options{Input: true}).Definitions() {
		info, err := (&einoTool{def: def}).Info(t.Context())
		require.NoError(t, err)
		params, err := info.ToJSONSchema()
		require.NoError(t, err)
		sent, err := json.Marshal(params)
		require.NoError(t, err)
		require.JSONEq(t, string(def.Schema), string(sent))
	}
}

func function(name, arguments string) map[string]any {
	return map[string]any{"name": name, "arguments": arguments}
}

// answer serves a model that answers with these calls, and says that it is done once it
// has their results. It returns the bodies of the requests so far.
func answer(t *testing.T, finish string, calls ...map[string]any) (bodies *[][]byte) {
	t.Helper()
	var all []any
	for i, call := range calls {
		all = append(all, map[string]any{"id": fmt.Sprintf("call_%d", i), "type": "function", "function": call})
	}
	bodies = new([][]byte)
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*bodies = append(*bodies, body)
		message := map[string]any{"role": "assistant", "content": "I run it.", "tool_calls": all}
		if bytes.Contains(body, []byte(`"role":"tool"`)) {
			finish, message = "stop", map[string]any{"role": "assistant", "content": "It is done."}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"finish_reason": finish, "message": message}}})
	}))
	t.Cleanup(model.Close)
	t.Setenv("OPENAI_BASE_URL", model.URL+"/v1")
	t.Setenv("OPENAI_API_KEY", "key")
	return bodies
}
