package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A reply is an answer of a model: words, or a tool call.
type reply struct {
	words     string
	tool      string
	arguments map[string]any
}

// An api is the form of a provider's answers and requests on the wire.
type api struct {
	provider string // the name for -provider
	path     string
	// events are the server-sent events of a streamed reply. A call has its
	// arguments in two halves: half is how many events there are up to the
	// first half, and whole up to the second.
	events func(id string, r reply) (events []string, half, whole int)
	// results are the tool results of a request.
	results func(t *testing.T, body []byte) []string
	// overloaded is an event that says that the provider is overloaded.
	overloaded string
}

var (
	openAI       = api{"openai", "/chat/completions", openAIEvents, openAIResults, `data: {"error":{"message":"overloaded","type":"server_error"}}` + "\n\n"}
	openAICompat = api{"openaicompat", openAI.path, openAI.events, openAI.results, openAI.overloaded}
	anthropicAPI = api{"anthropic", "/v1/messages", anthropicEvents, anthropicResults, "event: error\n" +
		`data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}` + "\n\n"}
	apis = []api{openAI, openAICompat, anthropicAPI}
)

// openAIEvents returns the events of POST /chat/completions with stream and
// stream_options.include_usage.
func openAIEvents(id string, r reply) (events []string, half, whole int) {
	chunk := func(choices string, usage string) {
		events = append(events, fmt.Sprintf(`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[%s],"usage":%s}`+"\n\n", choices, usage))
	}
	delta := func(delta any, finish string) {
		chunk(fmt.Sprintf(`{"index":0,"delta":%s,"logprobs":null,"finish_reason":%s}`, encode(delta), finish), "null")
	}
	function := func(arguments string) map[string]any { return map[string]any{"arguments": arguments} }
	delta(map[string]any{"role": "assistant", "content": ""}, "null")
	for _, word := range strings.SplitAfter(r.words, " ") {
		delta(map[string]any{"content": word}, "null")
	}
	finish := `"stop"`
	if r.tool != "" {
		finish = `"tool_calls"`
		arguments := encode(r.arguments)
		middle := len(arguments) / 2
		delta(map[string]any{"tool_calls": []any{map[string]any{
			"index": 0, "id": id, "type": "function",
			"function": map[string]any{"name": r.tool, "arguments": ""},
		}}}, "null")
		delta(map[string]any{"tool_calls": []any{map[string]any{"index": 0, "function": function(arguments[:middle])}}}, "null")
		half = len(events)
		delta(map[string]any{"tool_calls": []any{map[string]any{"index": 0, "function": function(arguments[middle:])}}}, "null")
		whole = len(events)
	}
	delta(map[string]any{}, finish)
	chunk("", `{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}`)
	return append(events, "data: [DONE]\n\n"), half, whole
}

func openAIResults(t *testing.T, body []byte) []string {
	t.Helper()
	var req struct {
		Messages []struct {
			Role    string `json:"role"`
			Content any    `json:"content"`
		} `json:"messages"`
	}
	require.NoError(t, json.Unmarshal(body, &req))
	var results []string
	for _, m := range req.Messages {
		if m.Role == "tool" {
			results = append(results, fmt.Sprint(m.Content))
		}
	}
	return results
}

// anthropicEvents returns the events of POST /v1/messages with stream.
func anthropicEvents(id string, r reply) (events []string, half, whole int) {
	event := func(name, data string) {
		events = append(events, fmt.Sprintf("event: %s\ndata: %s\n\n", name, data))
	}
	block := func(index int, start string, deltas ...any) {
		event("content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, start))
		for _, delta := range deltas {
			event("content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, index, encode(delta)))
		}
		event("content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index))
	}
	event("message_start", `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"m","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":1}}}`)
	event("ping", `{"type":"ping"}`)
	var words []any
	for _, word := range strings.SplitAfter(r.words, " ") {
		words = append(words, map[string]any{"type": "text_delta", "text": word})
	}
	block(0, `{"type":"text","text":""}`, words...)
	stop := "end_turn"
	if r.tool != "" {
		stop = "tool_use"
		arguments := encode(r.arguments)
		middle := len(arguments) / 2
		half = len(events) + 2
		whole = half + 1
		block(1, fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":{}}`, id, r.tool),
			map[string]any{"type": "input_json_delta", "partial_json": arguments[:middle]},
			map[string]any{"type": "input_json_delta", "partial_json": arguments[middle:]})
	}
	event("message_delta", fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":5}}`, stop))
	event("message_stop", `{"type":"message_stop"}`)
	return events, half, whole
}

func anthropicResults(t *testing.T, body []byte) []string {
	t.Helper()
	var req struct {
		Messages []struct {
			Content []struct {
				Type    string `json:"type"`
				Content []struct {
					Text string `json:"text"`
				} `json:"content"`
			} `json:"content"`
		} `json:"messages"`
	}
	require.NoError(t, json.Unmarshal(body, &req))
	var results []string
	for _, m := range req.Messages {
		for _, block := range m.Content {
			if block.Type != "tool_result" {
				continue
			}
			text := ""
			for _, part := range block.Content {
				text += part.Text
			}
			results = append(results, text)
		}
	}
	return results
}

func encode(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // v is made of maps and strings
	}
	return string(data)
}

// A server plays a provider. It is safe for concurrent use.
type server struct {
	*httptest.Server
	api api
	t   *testing.T
	// answer is the model: it returns the reply to the tool results so far.
	answer func(results []string) reply
	// fail may answer a request itself, and reports whether it has. Requests
	// count from 1.
	fail func(n int, s *server, w http.ResponseWriter, r reply) bool

	mu       sync.Mutex // guards requests
	requests [][]byte   // the bodies
}

func newServer(t *testing.T, a api, answer func(results []string) reply) *server {
	t.Helper()
	s := &server{api: a, t: t, answer: answer}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost || r.URL.Path != s.api.path {
		http.NotFound(w, r)
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, body)
	n := len(s.requests)
	s.mu.Unlock()
	answer := s.answer(s.api.results(s.t, body))
	if s.fail != nil && s.fail(n, s, w, answer) {
		return
	}
	events, _, _ := s.api.events(fmt.Sprintf("call_%d", n), answer)
	stream(w, events)
}

// request returns the body of a request. Requests count from 1, and -1 is the
// last.
func (s *server) request(n int) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n < 0 {
		n += len(s.requests) + 1
	}
	return s.requests[n-1]
}

func (s *server) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// stream sends events one by one.
func stream(w http.ResponseWriter, events []string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, event := range events {
		_, _ = io.WriteString(w, event)           // the client may have gone
		_ = http.NewResponseController(w).Flush() // a flush that fails changes nothing
	}
}

// reset breaks a connection, as a load balancer does when it restarts.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	_ = conn.(*net.TCPConn).SetLinger(0)
	conn.Close()
}
