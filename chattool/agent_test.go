package chattool_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"charm.land/fantasy"
	"github.com/stretchr/testify/require"
	"github.com/toolproc/toolproc/chattool"
	"github.com/toolproc/toolproc/chattool/toolset"
)

// A scripted model makes all its calls in its first step, and then says that it
// is done. It keeps the prompts that it was sent.
type scripted struct {
	fantasy.LanguageModel
	calls []fantasy.ToolCallContent
	sent  []fantasy.Call
}

func (m *scripted) Generate(_ context.Context, call fantasy.Call) (*fantasy.Response, error) {
	m.sent = append(m.sent, call)
	if len(m.sent) > 1 {
		return &fantasy.Response{Content: fantasy.ResponseContent{fantasy.TextContent{Text: "done"}}, FinishReason: fantasy.FinishReasonStop}, nil
	}
	response := &fantasy.Response{FinishReason: fantasy.FinishReasonToolCalls}
	for _, call := range m.calls {
		response.Content = append(response.Content, call)
	}
	return response, nil
}

func (m *scripted) Stream(_ context.Context, call fantasy.Call) (fantasy.StreamResponse, error) {
	m.sent = append(m.sent, call)
	first := len(m.sent) == 1
	return func(yield func(fantasy.StreamPart) bool) {
		if !first {
			yield(fantasy.StreamPart{Type: fantasy.StreamPartTypeFinish, FinishReason: fantasy.FinishReasonStop})
			return
		}
		for _, call := range m.calls {
			if !yield(fantasy.StreamPart{Type: fantasy.StreamPartTypeToolCall, ID: call.ToolCallID, ToolCallName: call.ToolName, ToolCallInput: call.Input}) {
				return
			}
		}
		yield(fantasy.StreamPart{Type: fantasy.StreamPartTypeFinish, FinishReason: fantasy.FinishReasonToolCalls})
	}, nil
}

func (m *scripted) Provider() string { return "scripted" }
func (m *scripted) Model() string    { return "scripted" }

// run runs an agent once, and returns the results of its first step.
func run(t *testing.T, agent fantasy.Agent, streams bool, repair fantasy.RepairToolCallFunction, models func() fantasy.LanguageModel) map[string]fantasy.ToolResultContent {
	t.Helper()
	var result *fantasy.AgentResult
	var err error
	if streams {
		result, err = agent.Stream(t.Context(), fantasy.AgentStreamCall{Prompt: "go", RepairToolCall: repair, ModelProvider: models})
	} else {
		result, err = agent.Generate(t.Context(), fantasy.AgentCall{Prompt: "go", RepairToolCall: repair, ModelProvider: models})
	}
	require.NoError(t, err)
	require.Len(t, result.Steps, 2, "the model is asked again, with the results")
	results := map[string]fantasy.ToolResultContent{}
	for _, res := range result.Steps[0].Content.ToolResults() {
		results[res.ToolCallID] = res
	}
	return results
}

// eachWay runs a test of an agent that generates, and of one that streams.
func eachWay(t *testing.T, name string, test func(t *testing.T, streams bool)) {
	for way, streams := range map[string]bool{"generated": false, "streamed": true} {
		t.Run(name+", "+way, func(t *testing.T) {
			t.Parallel()
			test(t, streams)
		})
	}
}

// said returns the text of a result as the model reads it.
func said(t *testing.T, res fantasy.ToolResultContent) (content string, isError bool) {
	t.Helper()
	switch output := res.Result.(type) {
	case fantasy.ToolResultOutputContentError:
		content, isError = output.Error.Error(), true
	case fantasy.ToolResultOutputContentText:
		content = output.Text
	}
	require.True(t, json.Valid([]byte(content)), content)
	return content, isError
}

// The arguments of this call were cut off.
var cutOff = []fantasy.ToolCallContent{{ToolCallID: "cut", ToolName: "execute", Input: `{"command":"rm -rf /tmp`}}

// A call whose arguments were cut off runs nothing, however the agent is used and
// whatever the host says about repairs.
func TestNewAgentRunsNoHalfCommand(t *testing.T) {
	t.Parallel()
	repair := func(_ context.Context, opts fantasy.ToolCallRepairOptions) (*fantasy.ToolCallContent, error) {
		call := opts.OriginalToolCall
		call.Input += `"}`
		return &call, nil
	}
	unguarded := func(model fantasy.LanguageModel, tools []fantasy.AgentTool, opts ...fantasy.AgentOption) fantasy.Agent {
		return fantasy.NewAgent(model, append(opts, fantasy.WithTools(tools...))...)
	}
	for _, tt := range []struct {
		name     string
		newAgent func(fantasy.LanguageModel, []fantasy.AgentTool, ...fantasy.AgentOption) fantasy.Agent
		repair   fantasy.RepairToolCallFunction
		runs     []string
	}{
		{"chattool", chattool.NewAgent, nil, nil},
		{"chattool, with a repair of the host", chattool.NewAgent, repair, nil},
		{"fantasy", unguarded, nil, []string{"rm -rf /tmp"}}, // if this fails, fantasy has changed and NewAgent can go
	} {
		eachWay(t, tt.name, func(t *testing.T, streams bool) {
			manager, model := newScript(t, 0), &scripted{calls: cutOff}
			var opts []fantasy.AgentOption
			if tt.repair != nil {
				opts = append(opts, fantasy.WithRepairToolCall(tt.repair))
			}
			results := run(t, tt.newAgent(model, all(toolset.Static(manager)), opts...), streams, tt.repair, nil)
			require.Equal(t, tt.runs, manager.runs())
			require.Len(t, results, 1, "the model is told what became of its call")
			if tt.runs == nil {
				require.IsType(t, fantasy.ToolResultOutputContentError{}, results["cut"].Result)
			}
		})
	}
}

// A call that has the ID of a broken one of its answer may be that one, repaired.
// The tool refuses it. A later answer may use the ID again.
func TestToolRefusesRepairedCall(t *testing.T) {
	t.Parallel()
	repaired := fantasy.ToolCallContent{ToolCallID: "cut", ToolName: "execute", Input: `{"command": "rm -rf /tmp"}`}
	for name, provided := range map[string]bool{"a model": false, "a ModelProvider": true} {
		eachWay(t, name, func(t *testing.T, streams bool) {
			manager, model := newScript(t, 0), &scripted{calls: append(slices.Clone(cutOff), repaired)}
			var models func() fantasy.LanguageModel
			if provided {
				models = func() fantasy.LanguageModel { return model }
			}
			agent := chattool.NewAgent(model, all(toolset.Static(manager)))
			content, isError := said(t, run(t, agent, streams, nil, models)["cut"])
			require.True(t, isError, content)
			require.Contains(t, content, "arguments")
			require.Empty(t, manager.runs())

			model.calls, model.sent = []fantasy.ToolCallContent{repaired}, nil
			content, isError = said(t, run(t, agent, streams, nil, models)["cut"])
			require.False(t, isError, content)
			require.Equal(t, []string{"rm -rf /tmp"}, manager.runs())
		})
	}
}
