package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/toolproc/toolproc/examples/internal/story"
)

// An endpoint is one for chat completions, where a script plays the model.
type endpoint struct {
	script story.Script
	busyAt int // the result before whose answer it is overloaded once; 0: never

	busy atomic.Bool // it has been overloaded
}

// ServeHTTP answers a request for a chat completion.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/chat/completions" {
		http.NotFound(w, r)
		return
	}
	var req struct {
		Messages []message `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	var results []string
	for _, m := range req.Messages {
		if m.Role == "tool" {
			results = append(results, m.Content)
		}
	}
	if e.busyAt > 0 && len(results) == e.busyAt && !e.busy.Swap(true) {
		refuse(w, http.StatusServiceUnavailable, errors.New("overloaded, try again later"))
		return
	}
	next, err := e.script.Next(results)
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	said := map[string]any{"role": "assistant", "content": next.Says}
	finish := "stop"
	var calls []map[string]any
	for i, c := range next.Calls {
		calls = append(calls, map[string]any{
			"id":       fmt.Sprintf("call_%d", i), // from 0 in each answer, as with some servers
			"type":     "function",
			"function": map[string]any{"name": c.Tool, "arguments": c.Arguments},
		})
	}
	if len(calls) > 0 {
		said["tool_calls"], finish = calls, "tool_calls"
	}
	send(w, http.StatusOK, map[string]any{
		"object":  "chat.completion",
		"choices": []map[string]any{{"index": 0, "message": said, "finish_reason": finish}},
	})
}

func refuse(w http.ResponseWriter, status int, err error) {
	send(w, status, map[string]any{"error": map[string]any{"message": err.Error()}})
}

func send(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that has gone asks again
}
