package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool/toolset"
)

const (
	maxAnswer = 32 << 20 // bytes of one answer
	maxQuoted = 500      // bytes of an error that are shown
)

// An endpoint is a model behind chat completions. If it is overloaded, the user asks
// again.
type endpoint struct {
	url, key, name string // the URL is without /chat/completions
}

// These types are the parts of a chat completion that an agent needs.
type (
	message struct {
		Role       string `json:"role"`
		Content    string `json:"content"`
		ToolCallID string `json:"tool_call_id,omitempty"`
	}
	function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	tool struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	call struct {
		ID       string `json:"id"`
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"` // a string that contains JSON; some servers send the object itself
		} `json:"function"`
	}
	answer struct {
		finish, words string
		calls         []call
		raw           json.RawMessage // the message as it came; it goes back unchanged, since some endpoints insist on fields of their own
	}
)

// ask sends a conversation and returns the model's answer.
func (e endpoint) ask(ctx context.Context, messages []any, defs []toolset.Definition) (answer, error) {
	var tools []tool
	for _, def := range defs {
		tools = append(tools, tool{"function", function{def.Name, def.Description, def.Schema}})
	}
	body, err := json.Marshal(map[string]any{"model": e.name, "messages": messages, "tools": tools})
	if err != nil {
		return answer{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	if e.key != "" {
		req.Header.Set("Authorization", "Bearer "+e.key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return answer{}, xerrors.Errorf("the answer broke off: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		return answer{}, xerrors.Errorf("the endpoint answered %s: %.*s", res.Status, maxQuoted, bytes.TrimSpace(data))
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
	for i := range said.ToolCalls {
		f := &said.ToolCalls[i].Function
		if inner := ""; json.Unmarshal(f.Arguments, &inner) == nil {
			f.Arguments = json.RawMessage(inner)
		}
	}
	first := completion.Choices[0]
	return answer{finish: first.FinishReason, words: strings.TrimSpace(said.Content), calls: said.ToolCalls, raw: first.Message}, nil
}
