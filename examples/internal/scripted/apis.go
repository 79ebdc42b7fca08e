package scripted

import (
	"encoding/json"
	"fmt"
	"strings"
)

// OpenAI is the API of chat completions, POST /chat/completions.
var OpenAI = API{
	path: "/chat/completions",
	read: func(body []byte) (request, error) {
		var in struct {
			Messages []struct {
				Role    string
				Content any
			}
			Tools []struct {
				Function struct {
					Name       string
					Parameters any
				}
			}
		}
		err := json.Unmarshal(body, &in)
		req := request{tools: make(map[string]any)}
		for _, tool := range in.Tools {
			req.tools[tool.Function.Name] = tool.Function.Parameters
		}
		if n := len(in.Messages); n > 0 && in.Messages[n-1].Role == "tool" {
			req.result = texts(in.Messages[n-1].Content)
		}
		return req, err
	},
	answer: func(s step) any {
		message, finish := map[string]any{"role": "assistant", "content": Words}, "stop"
		if s.tool != "" {
			arguments, _ := json.Marshal(s.arguments) // texts and flags
			finish = "tool_calls"
			message = map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{
				"id": callID(s), "type": "function", "function": map[string]any{"name": s.tool, "arguments": string(arguments)},
			}}}
		}
		return map[string]any{
			"id": "chatcmpl-1", "object": "chat.completion", "created": 1700000000, "model": "m",
			"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish, "logprobs": nil}},
			"usage":   map[string]any{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
		}
	},
}

// Anthropic is the API of messages, POST /v1/messages.
var Anthropic = API{
	path: "/v1/messages",
	read: func(body []byte) (request, error) {
		var in struct {
			Messages []struct{ Content json.RawMessage }
			Tools    []struct {
				Name   string
				Schema any `json:"input_schema"`
			}
		}
		err := json.Unmarshal(body, &in)
		req := request{tools: make(map[string]any)}
		for _, tool := range in.Tools {
			req.tools[tool.Name] = tool.Schema
		}
		if n := len(in.Messages); n > 0 {
			var blocks []struct {
				Type    string
				Content any
				IsError bool `json:"is_error"`
			}
			_ = json.Unmarshal(in.Messages[n-1].Content, &blocks) // a text is none
			for _, block := range blocks {
				if block.Type == "tool_result" {
					req.result, req.failed = texts(block.Content), &block.IsError
				}
			}
		}
		return req, err
	},
	answer: func(s step) any {
		block, stop := map[string]any{"type": "text", "text": Words}, "end_turn"
		if s.tool != "" {
			block, stop = map[string]any{"type": "tool_use", "id": callID(s), "name": s.tool, "input": s.arguments}, "tool_use"
		}
		return map[string]any{
			"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []any{block},
			"stop_reason": stop, "stop_sequence": nil, "usage": map[string]any{"input_tokens": 10, "output_tokens": 5},
		}
	},
}

// Gemini is the API of POST /v1beta/models/MODEL:generateContent.
var Gemini = API{
	path: ":generateContent",
	read: func(body []byte) (request, error) {
		var in struct {
			Contents []struct {
				Parts []struct {
					FunctionResponse *struct{ Response any }
				}
			}
			Tools []struct {
				FunctionDeclarations []map[string]any
			}
		}
		err := json.Unmarshal(body, &in)
		req := request{tools: make(map[string]any)}
		for _, tool := range in.Tools {
			for _, function := range tool.FunctionDeclarations {
				req.tools[fmt.Sprint(function["name"])] = function
			}
		}
		if n := len(in.Contents); n > 0 {
			for _, part := range in.Contents[n-1].Parts {
				if part.FunctionResponse != nil {
					req.result = texts(part.FunctionResponse.Response)
				}
			}
		}
		return req, err
	},
	answer: func(s step) any {
		part := map[string]any{"text": Words}
		if s.tool != "" {
			part = map[string]any{"functionCall": map[string]any{"id": callID(s), "name": s.tool, "args": s.arguments}}
		}
		return map[string]any{
			"candidates":    []any{map[string]any{"content": map[string]any{"role": "model", "parts": []any{part}}, "finishReason": "STOP", "index": 0}},
			"usageMetadata": map[string]any{"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
		}
	},
}

func callID(s step) string { return fmt.Sprintf("call_%d", s.number) }

// texts joins all texts of a value: an API has a result as one, or as parts.
func texts(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case []any:
		var all []string
		for _, one := range value {
			all = append(all, texts(one))
		}
		return strings.Join(all, "\n")
	case map[string]any:
		var all []string
		for _, one := range value {
			all = append(all, texts(one))
		}
		return strings.Join(all, "\n")
	}
	return ""
}
