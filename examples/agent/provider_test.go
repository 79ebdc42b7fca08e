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

// overloaded is an event that says that the provider is overloaded.
const overloaded = `data: {"error":{"message":"overloaded","type":"server_error"}}` + "\n\n"

// eventsOf returns the server-sent events of a streamed reply to POST /chat/completions
// with stream_options.include_usage. A call has its arguments in two halves, in the fifth and
// the fourth event from the end.
func eventsOf(id string, r reply) (events []string) {
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
		delta(map[string]any{"tool_calls": []any{map[string]any{"index": 0, "function": function(arguments[middle:])}}}, "null")
	}
	delta(map[string]any{}, finish)
	chunk("", `{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}`)
	return append(events, "data: [DONE]\n\n")
}

// resultsIn returns the tool results of a request.
func resultsIn(t *testing.T, body []byte) []string {
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
	provider string // the name for -provider
	t        *testing.T
	// answer is the model: it returns the reply to the tool results so far.
	answer func(results []string) reply
	// fail may answer a request itself, and reports whether it has. Requests
	// count from 1.
	fail func(n int, w http.ResponseWriter, r reply) bool

	mu       sync.Mutex // guards requests
	requests [][]byte   // the bodies
}

func newServer(t *testing.T, answer func(results []string) reply) *server {
	t.Helper()
	s := &server{provider: "openai", t: t, answer: answer}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost || r.URL.Path != "/chat/completions" {
		http.NotFound(w, r)
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, body)
	n := len(s.requests)
	s.mu.Unlock()
	answer := s.answer(resultsIn(s.t, body))
	if s.fail != nil && s.fail(n, w, answer) {
		return
	}
	stream(w, eventsOf(fmt.Sprintf("call_%d", n), answer))
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
