package main

import (
	"context"
	"fmt"

	"charm.land/fantasy"
)

// A model plays a language model from a script. It keeps nothing between two
// calls: like a real model, it knows only the prompt.
type model struct {
	fantasy.LanguageModel // nil: an agent that streams calls no other method
	script                Script
}

// Stream returns the answer to a prompt.
func (m *model) Stream(ctx context.Context, call fantasy.Call) (fantasy.StreamResponse, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var results []string
	for _, message := range call.Prompt {
		for _, part := range message.Content {
			if result, ok := fantasy.AsMessagePart[fantasy.ToolResultPart](part); ok {
				results = append(results, textOf(result.Output))
			}
		}
	}
	next, err := m.script.Next(results)
	if err != nil {
		return nil, err
	}
	parts := []fantasy.StreamPart{
		{Type: fantasy.StreamPartTypeTextStart, ID: "text"},
		{Type: fantasy.StreamPartTypeTextDelta, ID: "text", Delta: next.Says},
		{Type: fantasy.StreamPartTypeTextEnd, ID: "text"},
	}
	finish := fantasy.FinishReasonStop
	for i, c := range next.Calls {
		finish = fantasy.FinishReasonToolCalls
		id := fmt.Sprintf("call_%d", len(results)+i)
		parts = append(parts,
			fantasy.StreamPart{Type: fantasy.StreamPartTypeToolInputStart, ID: id, ToolCallName: c.Tool},
			fantasy.StreamPart{Type: fantasy.StreamPartTypeToolInputDelta, ID: id, Delta: c.Arguments},
			fantasy.StreamPart{Type: fantasy.StreamPartTypeToolInputEnd, ID: id},
			fantasy.StreamPart{Type: fantasy.StreamPartTypeToolCall, ID: id, ToolCallName: c.Tool, ToolCallInput: c.Arguments},
		)
	}
	parts = append(parts, fantasy.StreamPart{Type: fantasy.StreamPartTypeFinish, FinishReason: finish})
	return func(yield func(fantasy.StreamPart) bool) {
		for _, part := range parts {
			if !yield(part) {
				return
			}
		}
	}, nil
}

// textOf returns the text of a tool result that a model reads.
func textOf(content fantasy.ToolResultOutputContent) string {
	if failed, ok := fantasy.AsToolResultOutputType[fantasy.ToolResultOutputContentError](content); ok {
		return failed.Error.Error()
	}
	said, _ := fantasy.AsToolResultOutputType[fantasy.ToolResultOutputContentText](content)
	return said.Text
}

// Provider returns the name of the model's provider.
func (m *model) Provider() string { return "quickstart" }

// Model returns the name of the model.
func (m *model) Model() string { return "script" }
