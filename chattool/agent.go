package chattool

import (
	"context"
	"encoding/json"
	"sync"

	"charm.land/fantasy"
)

// NewAgent is [fantasy.NewAgent] for agents whose tools run commands. It takes the
// same options, except that [fantasy.WithRepairToolCall] has no effect.
//
// By default fantasy repairs the arguments of a call that are not valid JSON: it
// closes their quotes and brackets. But a model's answer may be cut off within a
// command, and half of a command is another command. fantasy has two settings
// against that, one of the agent for Generate and one of the call for Stream, and
// each ignores the other. The returned agent sets both, so broken arguments reach
// no tool, and the model reads that they are broken. Should fantasy run a repaired
// call all the same, the tool gets the arguments as the model wrote them, and so
// refuses them. The tools of [fantasy.WithTools] and of a PrepareStep lack this
// second guard.
func NewAgent(model fantasy.LanguageModel, tools []fantasy.AgentTool, opts ...fantasy.AgentOption) fantasy.Agent {
	return &agent{model: model, tools: tools, opts: opts}
}

// An agent makes an agent of fantasy for each of its calls, because their answers
// may have the same call IDs.
type agent struct {
	model fantasy.LanguageModel
	tools []fantasy.AgentTool
	opts  []fantasy.AgentOption
}

func (a *agent) Generate(ctx context.Context, call fantasy.AgentCall) (*fantasy.AgentResult, error) {
	b := new(brokenCalls)
	call.ModelProvider = b.record(call.ModelProvider)
	return a.guarded(b).Generate(ctx, call)
}

func (a *agent) Stream(ctx context.Context, call fantasy.AgentStreamCall) (*fantasy.AgentResult, error) {
	b := new(brokenCalls)
	call.ModelProvider, call.RepairToolCall = b.record(call.ModelProvider), noRepair
	return a.guarded(b).Stream(ctx, call)
}

func (a *agent) guarded(b *brokenCalls) fantasy.Agent {
	tools := make([]fantasy.AgentTool, len(a.tools))
	for i, t := range a.tools {
		tools[i] = guardedTool{AgentTool: t, broken: b}
	}
	opts := []fantasy.AgentOption{fantasy.WithTools(tools...)}
	opts = append(opts, a.opts...)
	opts = append(opts, fantasy.WithRepairToolCall(noRepair))
	return fantasy.NewAgent(recorder{LanguageModel: a.model, broken: b}, opts...)
}

// noRepair leaves a call with broken arguments as it is.
func noRepair(context.Context, fantasy.ToolCallRepairOptions) (*fantasy.ToolCallContent, error) {
	return nil, nil
}

// brokenCalls has the calls of a model's last answer whose arguments are not valid
// JSON: a tool cannot tell a repaired call from another one. It is safe for
// concurrent use.
type brokenCalls struct {
	mu        sync.Mutex        // guards arguments
	arguments map[string]string // by the ID of their call
}

// reset begins an answer. Some providers use the same IDs in each of them.
func (b *brokenCalls) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.arguments = nil
}

// add keeps the arguments of a call if they are broken.
func (b *brokenCalls) add(id, arguments string) {
	if json.Valid([]byte(arguments)) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.arguments == nil {
		b.arguments = make(map[string]string)
	}
	b.arguments[id] = arguments
}

func (b *brokenCalls) find(id string) (arguments string, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	arguments, ok = b.arguments[id]
	return arguments, ok
}

func (b *brokenCalls) record(models func() fantasy.LanguageModel) func() fantasy.LanguageModel {
	if models == nil {
		return nil
	}
	return func() fantasy.LanguageModel { return recorder{LanguageModel: models(), broken: b} }
}

// A guardedTool runs a call that is broken with its broken arguments.
type guardedTool struct {
	fantasy.AgentTool
	broken *brokenCalls
}

func (t guardedTool) Run(ctx context.Context, call fantasy.ToolCall) (fantasy.ToolResponse, error) {
	if arguments, ok := t.broken.find(call.ID); ok {
		call.Input = arguments
	}
	return t.AgentTool.Run(ctx, call)
}

// A recorder is a model that records the broken calls of its answers.
type recorder struct {
	fantasy.LanguageModel
	broken *brokenCalls
}

func (r recorder) Generate(ctx context.Context, call fantasy.Call) (*fantasy.Response, error) {
	r.broken.reset()
	response, err := r.LanguageModel.Generate(ctx, call)
	if err == nil {
		for _, call := range response.Content.ToolCalls() {
			r.broken.add(call.ToolCallID, call.Input)
		}
	}
	return response, err
}

func (r recorder) Stream(ctx context.Context, call fantasy.Call) (fantasy.StreamResponse, error) {
	r.broken.reset()
	stream, err := r.LanguageModel.Stream(ctx, call)
	if err != nil {
		return nil, err
	}
	return func(yield func(fantasy.StreamPart) bool) {
		for part := range stream {
			if part.Type == fantasy.StreamPartTypeToolCall {
				r.broken.add(part.ID, part.ToolCallInput)
			}
			if !yield(part) {
				return
			}
		}
	}, nil
}
