package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/examples/internal/dialogue"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	maxTries  = 5        // requests for one answer
	maxAnswer = 32 << 20 // bytes of one answer
	maxQuoted = 500      // bytes of an error that are shown
)

// A loop lets a model work. It asks the model, carries out the calls in the
// answer, sends the results and asks again, until an answer has no call.
type loop struct {
	url, key, model string       // the endpoint, such as http://127.0.0.1:8080/v1, and its model
	client          *http.Client // nil is http.DefaultClient
	firstPause      time.Duration
	maxTurns        int

	tools     *toolset.Set
	functions []function // the tools in the form of the endpoint
	show      *dialogue.Transcript

	messages []any // the conversation; it only grows
}

// These types are the parts of a chat completion that a loop needs.
type (
	function struct {
		Type     string `json:"type"`
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	}
	message struct {
		Role       string `json:"role"`
		Content    string `json:"content"`
		ToolCallID string `json:"tool_call_id,omitempty"`
	}
	call struct {
		ID       string `json:"id"`
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"` // a string that contains JSON; some servers send the object itself
		} `json:"function"`
	}
	answer struct {
		finish string
		words  string
		calls  []call
		// raw is the message as it came, and goes back unchanged. It may have
		// more fields, such as signatures of thoughts, and some endpoints
		// insist on them.
		raw json.RawMessage
	}
)

// newLoop returns a loop whose commands run on a manager. It chooses the process
// IDs; the other options of the tools are the caller's. The caller fills in
// the endpoint.
func newLoop(manager procmgr.Manager, show *dialogue.Transcript) (l *loop, err error) {
	l = &loop{firstPause: time.Second, maxTurns: 50, show: show}
	l.tools, err = toolset.New(toolset.Static(manager), &toolset.Options{
		// The ID of a process is the ID of its call; see carryOut.
		ProcessID: func(_ context.Context, c toolset.Call) string { return c.ID },
	})
	if err != nil {
		return nil, err
	}
	for _, def := range l.tools.Definitions() {
		f := function{Type: "function"}
		f.Function.Name, f.Function.Description, f.Function.Parameters = def.Name, def.Description, def.Schema
		l.functions = append(l.functions, f)
	}
	return l, nil
}

// run works on a prompt until an answer of the model has no call.
func (l *loop) run(ctx context.Context, prompt string) error {
	l.messages = append(l.messages, message{Role: "user", Content: prompt})
	for range l.maxTurns {
		a, err := l.ask(ctx)
		if err != nil {
			return err
		}
		l.show.Space() // if stdout has no reader, show.Gone ends ctx
		l.show.Say("model", a.words)
		place := len(l.messages)
		l.messages = append(l.messages, a.raw)
		if len(a.calls) == 0 {
			if a.finish != "stop" && a.finish != "" {
				return xerrors.Errorf("the model's last answer is not complete: finish_reason %q", a.finish)
			}
			return nil
		}
		for _, result := range l.carryOut(ctx, place, a) {
			l.messages = append(l.messages, result)
		}
	}
	return xerrors.Errorf("the model has not come to an end in %d turns", l.maxTurns)
}

// carryOut carries out the calls of an answer and returns their results in the
// same order.
//
// The ID of a call, and so of its process, is made from the answer's place in
// the conversation. If a loop has lost the results and carries out the same
// answer again, it gets the processes of the first time and runs nothing twice.
// The IDs of the endpoint will not do: some endpoints number the calls of each
// answer from 0.
func (l *loop) carryOut(ctx context.Context, place int, a answer) []message {
	results, calls := make([]message, len(a.calls)), make([]toolset.Call, len(a.calls))
	for i, c := range a.calls {
		calls[i] = toolset.Call{ID: fmt.Sprintf("m%d-c%d", place, i), Name: c.Function.Name, Arguments: unquoted(c.Function.Arguments)}
		l.show.Call("call", calls[i].Name, calls[i].Arguments)
		results[i] = message{Role: "tool", ToolCallID: c.ID}
		results[i].Content = `{"success":false,"error":"not carried out, since your answer was cut off before its end; call again, with less at once"}`
	}
	if a.finish == "length" || a.finish == "content_filter" {
		calls = nil // half of a command is another command
	}
	for i, res := range l.tools.CallAll(ctx, calls) {
		results[i].Content = res.Content
	}
	for _, result := range results {
		l.show.Result("result", result.Content)
	}
	return results
}

// unquoted returns the object in a string that contains JSON, or what else it is.
func unquoted(arguments json.RawMessage) json.RawMessage {
	var inner string
	if json.Unmarshal(arguments, &inner) == nil {
		return json.RawMessage(inner)
	}
	return arguments
}

// ask sends the conversation and returns the model's answer. If a request
// fails, it tries again. No command runs twice: ask runs none, and the results
// of earlier commands are in the conversation.
func (l *loop) ask(ctx context.Context) (answer, error) {
	body, err := json.Marshal(map[string]any{"model": l.model, "messages": l.messages, "tools": l.functions})
	if err != nil {
		return answer{}, err
	}
	pause := l.firstPause
	for try := 1; ; try++ {
		a, err := l.post(ctx, body)
		var passing *passingError
		if err == nil || ctx.Err() != nil || try == maxTries || !errors.As(err, &passing) {
			return a, err
		}
		wait := max(pause, passing.after)
		l.show.Space()
		l.show.Say("", fmt.Sprintf("(%v; asking once more in %v, nothing is run again)", err, wait))
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return answer{}, ctx.Err()
		}
		pause *= 2
	}
}

// A passingError is an error that may be gone at the next try.
type passingError struct {
	error
	after time.Duration // how long the endpoint asks to wait
}

func (e *passingError) Unwrap() error { return e.error }

// post sends one request.
func (l *loop) post(ctx context.Context, body []byte) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	if l.key != "" {
		req.Header.Set("Authorization", "Bearer "+l.key)
	}
	res, err := cmp.Or(l.client, http.DefaultClient).Do(req)
	if err != nil {
		return answer{}, &passingError{error: err}
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return answer{}, &passingError{error: xerrors.Errorf("the answer broke off: %w", err)}
	}
	if res.StatusCode != http.StatusOK {
		err = xerrors.Errorf("the endpoint answered %s: %.*s", res.Status, maxQuoted, bytes.TrimSpace(data))
		if res.StatusCode == http.StatusRequestTimeout || res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= 500 {
			seconds, _ := strconv.Atoi(res.Header.Get("Retry-After")) // 0 if the header is missing or a date
			err = &passingError{error: err, after: time.Duration(seconds) * time.Second}
		}
		return answer{}, err
	}
	return parse(data)
}

// parse reads a chat completion.
func parse(data []byte) (answer, error) {
	var completion struct {
		Choices []struct {
			Message      json.RawMessage `json:"message"`
			FinishReason string          `json:"finish_reason"`
		} `json:"choices"`
	}
	var said struct {
		Content   string `json:"content"`
		ToolCalls []call `json:"tool_calls"`
	}
	err := json.Unmarshal(data, &completion)
	if err == nil && len(completion.Choices) == 0 {
		err = errors.New("it has no choices")
	}
	if err == nil {
		err = json.Unmarshal(completion.Choices[0].Message, &said)
	}
	if err != nil {
		return answer{}, xerrors.Errorf("the endpoint's answer %.*q is no chat completion: %w", maxQuoted, data, err)
	}
	first := completion.Choices[0]
	return answer{finish: first.FinishReason, words: strings.TrimSpace(said.Content), calls: said.ToolCalls, raw: first.Message}, nil
}
