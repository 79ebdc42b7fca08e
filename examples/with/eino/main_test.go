package main

import (
	"encoding/json"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/examples/internal/exampletest"
	"github.com/toolproc/toolproc/examples/internal/scripted"
)

func TestMain(m *testing.M) { exampletest.Main(m) }

func TestConversation(t *testing.T) {
	provider(t, scripted.Play(t, scripted.OpenAI))
	scripted.RequireConversation(t, run)
}

func TestReadme(t *testing.T) {
	provider(t, scripted.Play(t, scripted.OpenAI))
	scripted.RequirePage(t)
}

func TestCancel(t *testing.T) {
	answer(t, "tool_calls", scripted.Endless)
	scripted.RequireStop(t, run)
}

func TestCutAnswer(t *testing.T) {
	answer(t, "length", scripted.Touch)
	scripted.RequireNothingDone(t, run, "cut off: length")
}

// The words and the calls of an answer go back to the model, with a result for each
// call. The second call depends on the first one, and the third one has no tool.
func TestAnswerOfThreeCalls(t *testing.T) {
	exampletest.Scratch(t)
	url, bodies := scripted.Completions(t, "tool_calls",
		scripted.Call{Name: "execute", Arguments: `{"command":"sleep 0.2; touch \"$TMPDIR/one\""}`},
		scripted.Call{Name: "execute", Arguments: `{"command":"ls \"$TMPDIR\""}`},
		scripted.Call{Name: "bash", Arguments: `{"command":"ls"}`})
	provider(t, url)
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

// answer lets a model answer with one call of execute.
func answer(t *testing.T, finish, arguments string) {
	t.Helper()
	url, _ := scripted.Completions(t, finish, scripted.Call{Name: "execute", Arguments: arguments})
	provider(t, url)
}

// provider lets the program ask the model at a URL.
func provider(t *testing.T, url string) {
	t.Helper()
	t.Setenv("OPENAI_BASE_URL", url+"/v1")
	t.Setenv("OPENAI_API_KEY", "key")
}
