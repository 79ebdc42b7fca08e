package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"charm.land/fantasy"
	"golang.org/x/xerrors"
)

// A model plays a language model from a script. It keeps nothing between two
// calls: like a real model, it knows only the prompt.
type model struct{ scenes []scene }

var _ fantasy.LanguageModel = (*model)(nil)

// A turn is the answer of the model: words, and a tool call unless the model is
// done.
type turn struct {
	words string
	call  *fantasy.ToolCallContent
}

// next computes the answer to a prompt.
func (m *model) next(ctx context.Context, call fantasy.Call) (turn, error) {
	if err := ctx.Err(); err != nil {
		return turn{}, err
	}
	results, err := resultsIn(call.Prompt)
	if err != nil {
		return turn{}, err
	}
	if len(results) >= len(m.scenes) {
		return turn{}, errors.New("the script is over, and the model is asked for more")
	}
	var known memory
	for i, res := range results {
		if err := m.scenes[i].reads(&known, res); err != nil {
			return turn{}, xerrors.Errorf("result %d, of %s, is not as expected: %w", i+1, m.scenes[i].tool, err)
		}
	}
	now := m.scenes[len(results)]
	next := turn{words: now.says(&known)}
	if now.tool == "" {
		return next, nil
	}
	if !has(call.Tools, now.tool) {
		return turn{}, xerrors.Errorf("the model was given no tool %q", now.tool)
	}
	arguments, err := encode(now.asks(&known))
	if err != nil {
		return turn{}, err
	}
	next.call = &fantasy.ToolCallContent{
		ToolCallID: fmt.Sprintf("call_%d", len(results)+1),
		ToolName:   now.tool,
		Input:      arguments,
	}
	return next, nil
}

// resultsIn returns the tool results of a prompt, in their order.
func resultsIn(prompt fantasy.Prompt) ([]result, error) {
	var results []result
	for _, message := range prompt {
		if message.Role != fantasy.MessageRoleTool {
			continue
		}
		for _, part := range message.Content {
			answer, ok := fantasy.AsMessagePart[fantasy.ToolResultPart](part)
			if !ok {
				continue
			}
			content, isError := textOf(answer.Output)
			res := result{isError: isError}
			if err := json.Unmarshal([]byte(content), &res); err != nil {
				return nil, xerrors.Errorf("the result %q is no JSON object: %w", content, err)
			}
			results = append(results, res)
		}
	}
	return results, nil
}

// textOf returns the text of a tool result that a model reads.
func textOf(content fantasy.ToolResultOutputContent) (text string, isError bool) {
	if failed, ok := fantasy.AsToolResultOutputType[fantasy.ToolResultOutputContentError](content); ok {
		return failed.Error.Error(), true
	}
	said, _ := fantasy.AsToolResultOutputType[fantasy.ToolResultOutputContentText](content)
	return said.Text, false
}

func has(tools []fantasy.Tool, name string) bool {
	for _, tool := range tools {
		if tool.GetName() == name {
			return true
		}
	}
	return false
}

// encode writes JSON as a model would, with & and > unescaped.
func encode(v any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return strings.TrimSpace(b.String()), err
}

// finish returns why a turn ends. An agent goes on after a tool call.
func (t turn) finish() fantasy.FinishReason {
	if t.call != nil {
		return fantasy.FinishReasonToolCalls
	}
	return fantasy.FinishReasonStop
}

// Generate returns the answer in one piece.
func (m *model) Generate(ctx context.Context, call fantasy.Call) (*fantasy.Response, error) {
	next, err := m.next(ctx, call)
	if err != nil {
		return nil, err
	}
	response := &fantasy.Response{
		Content:      fantasy.ResponseContent{fantasy.TextContent{Text: next.words}},
		FinishReason: next.finish(),
	}
	if next.call != nil {
		response.Content = append(response.Content, *next.call)
	}
	return response, nil
}

// Stream returns the answer word by word.
func (m *model) Stream(ctx context.Context, call fantasy.Call) (fantasy.StreamResponse, error) {
	next, err := m.next(ctx, call)
	if err != nil {
		return nil, err
	}
	const text = "text"
	parts := []fantasy.StreamPart{{Type: fantasy.StreamPartTypeTextStart, ID: text}}
	for _, word := range strings.SplitAfter(next.words, " ") {
		parts = append(parts, fantasy.StreamPart{Type: fantasy.StreamPartTypeTextDelta, ID: text, Delta: word})
	}
	parts = append(parts, fantasy.StreamPart{Type: fantasy.StreamPartTypeTextEnd, ID: text})
	if c := next.call; c != nil {
		parts = append(parts,
			fantasy.StreamPart{Type: fantasy.StreamPartTypeToolInputStart, ID: c.ToolCallID, ToolCallName: c.ToolName},
			fantasy.StreamPart{Type: fantasy.StreamPartTypeToolInputDelta, ID: c.ToolCallID, Delta: c.Input},
			fantasy.StreamPart{Type: fantasy.StreamPartTypeToolInputEnd, ID: c.ToolCallID},
			fantasy.StreamPart{Type: fantasy.StreamPartTypeToolCall, ID: c.ToolCallID, ToolCallName: c.ToolName, ToolCallInput: c.Input},
		)
	}
	parts = append(parts, fantasy.StreamPart{Type: fantasy.StreamPartTypeFinish, FinishReason: next.finish()})
	return func(yield func(fantasy.StreamPart) bool) {
		for _, part := range parts {
			if err := ctx.Err(); err != nil {
				yield(fantasy.StreamPart{Type: fantasy.StreamPartTypeError, Error: err})
				return
			}
			if !yield(part) {
				return
			}
		}
	}, nil
}

var errNoObjects = errors.New("the script has no objects")

// GenerateObject fails. An agent does not call it.
func (m *model) GenerateObject(context.Context, fantasy.ObjectCall) (*fantasy.ObjectResponse, error) {
	return nil, errNoObjects
}

// StreamObject fails. An agent does not call it.
func (m *model) StreamObject(context.Context, fantasy.ObjectCall) (fantasy.ObjectStreamResponse, error) {
	return nil, errNoObjects
}

// Provider returns the name of the model's provider.
func (m *model) Provider() string { return "quickstart" }

// Model returns the name of the model.
func (m *model) Model() string { return "script" }
