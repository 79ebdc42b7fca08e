package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"

	"golang.org/x/xerrors"
)

// A script plays a model behind an endpoint for chat completions. Like a real
// model it remembers nothing: it knows only the request.
type script struct {
	scenes []scene
	busyAt int // the answer before which it is overloaded once; 0: never

	mu   sync.Mutex // guards busy
	busy bool       // it has been overloaded once
}

// A scene is one answer of the model, with the results that its calls must
// have.
type scene struct {
	says  string
	calls []scripted
}

type scripted struct {
	tool      string
	arguments map[string]any // "SERVER" is the ID of the last background process
	result    string         // a text that the result must contain
}

// start serves the script on loopback, until the returned function is called.
func (s *script) start() (url string, stop func() error, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: s}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }() // stop waits for it
	return "http://" + listener.Addr().String() + "/v1", func() error {
		err := server.Close()
		if serr := <-served; !errors.Is(serr, http.ErrServerClosed) {
			err = errors.Join(err, serr)
		}
		return err
	}, nil
}

// ServeHTTP answers a request for a chat completion.
func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/chat/completions" {
		http.NotFound(w, r)
		return
	}
	var req struct {
		Messages []message  `json:"messages"`
		Tools    []function `json:"tools"`
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	var results []string // the results of the last answer
	turn, server := 0, ""
	for _, m := range req.Messages {
		switch m.Role {
		case "assistant":
			turn, results = turn+1, nil
		case "tool":
			results = append(results, m.Content)
			var known struct {
				ID string `json:"background_process_id"`
			}
			if json.Unmarshal([]byte(m.Content), &known) == nil && known.ID != "" {
				server = known.ID
			}
		}
	}
	if s.overloaded(turn) {
		refuse(w, http.StatusServiceUnavailable, errors.New("overloaded, try again later"))
		return
	}
	if err := s.check(turn, results, req.Tools); err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	reply(w, s.scenes[turn], server)
}

// overloaded reports whether to refuse this answer, which it does once.
func (s *script) overloaded(turn int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	refuse := s.busyAt > 0 && turn == s.busyAt && !s.busy
	s.busy = s.busy || refuse
	return refuse
}

// check returns an error if the results of the last answer are wrong, or if the
// model lacks a tool.
func (s *script) check(turn int, results []string, tools []function) error {
	if turn >= len(s.scenes) {
		return errors.New("the script is over")
	}
	known := make(map[string]bool)
	for _, tool := range tools {
		known[tool.Function.Name] = true
	}
	for _, c := range s.scenes[turn].calls {
		if !known[c.tool] {
			return xerrors.Errorf("there is no tool %q", c.tool)
		}
	}
	if turn == 0 {
		return nil
	}
	calls := s.scenes[turn-1].calls
	if len(results) != len(calls) {
		return xerrors.Errorf("%d calls have %d results", len(calls), len(results))
	}
	for i, c := range calls {
		if !strings.Contains(results[i], c.result) {
			return xerrors.Errorf("the result of call %d should have %q in it: %s", i, c.result, results[i])
		}
	}
	return nil
}

// reply sends a scene as a chat completion.
func reply(w http.ResponseWriter, sc scene, server string) {
	said := map[string]any{"role": "assistant", "content": sc.says}
	finish := "stop"
	var calls []map[string]any
	for i, c := range sc.calls {
		arguments, err := json.Marshal(c.arguments)
		if err != nil {
			refuse(w, http.StatusInternalServerError, err)
			return
		}
		calls = append(calls, map[string]any{
			"id":   fmt.Sprintf("call_%d", i), // from 0 in each answer, as with some servers
			"type": "function",
			"function": map[string]any{
				"name":      c.tool,
				"arguments": strings.ReplaceAll(string(arguments), "SERVER", server),
			},
		})
	}
	if len(calls) > 0 {
		said["tool_calls"] = calls
		finish = "tool_calls"
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
