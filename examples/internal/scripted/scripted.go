// Package scripted stands for the provider of a model. On loopback it plays one
// conversation in the form of an API, and fails the test if a request or a result is not
// as it should be. Only tests import it.
package scripted

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// An API is the form of a provider's requests and answers.
type API struct {
	path string // the end of the path of a request
	read func(body []byte) (request, error)
	// answer is that to a request: a call, or words if it has no tool.
	answer func(s step) any
}

// Words are what the model says at the end.
const Words = "The build failed with exit code 3."

// A request is what a script looks at.
type request struct {
	tools  map[string]any // their schemas, by name
	result string         // the newest result of a tool
	failed *bool          // its error flag, if the API has one
}

// A step is an answer of the model, and what the result of the call before has to be.
type step struct {
	want      string // a pattern for the result of the step before
	wantError bool
	number    int
	tool      string
	arguments map[string]any
}

// ID stands in an argument for the process of the newest result that had one.
const id = "ID"

var (
	processID = regexp.MustCompile(`background_process_id\W+([a-z0-9]{10})\b`)

	script = []step{
		{tool: "process_output", arguments: map[string]any{"process_id": "nosuchproc"}},
		{want: "nosuchproc", wantError: true, tool: "execute", arguments: map[string]any{"command": "sleep 1; echo built; exit 3", "timeout": "100ms"}},
		{want: "background_process_id", tool: "process_output", arguments: map[string]any{"process_id": id, "wait_timeout": "30s"}},
		{want: `built[\s\S]*exit_code\W+3\b`, tool: "execute", arguments: map[string]any{"command": "exec sleep 1000", "run_in_background": true}},
		{want: "background_process_id", tool: "process_signal", arguments: map[string]any{"process_id": id, "signal": "terminate"}},
		{want: "SIGTERM"},
	}
)

// Play begins the conversation, and returns the URL of the provider. In it the model
// asks for a process that is not there, waits for a command that outlives its timeout,
// and ends another one. At the end of the test it has to be over.
func Play(t testing.TB, api API) (url string) {
	t.Helper()
	var mu sync.Mutex // guards the two below
	next, process := 0, ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		fail := func(format string, args ...any) {
			t.Errorf(format, args...)
			http.Error(w, fmt.Sprintf(format, args...), http.StatusBadRequest)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || !strings.HasSuffix(r.URL.Path, api.path) {
			fail("%s %s: %v", r.Method, r.URL, err)
			return
		}
		req, err := api.read(body)
		if err != nil {
			fail("%v: %s", err, body)
			return
		}
		if next >= len(script) {
			fail("a request after the last answer: %s", body)
			return
		}
		if complaint := script[next].refuses(req); complaint != "" {
			fail("request %d: %s: %s", next, complaint, body)
			return
		}
		if found := processID.FindStringSubmatch(req.result); found != nil {
			process = found[1]
		}
		now := script[next]
		now.number = next
		now.arguments = make(map[string]any)
		for name, value := range script[next].arguments {
			if value == id {
				value = process
			}
			now.arguments[name] = value
		}
		next++
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(api.answer(now)); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(func() {
		server.Close()
		if next != len(script) {
			t.Errorf("the conversation ended after %d of %d answers", next, len(script))
		}
	})
	return server.URL
}

// refuses says what is wrong with a request, if anything is.
func (s step) refuses(req request) string {
	for name, argument := range map[string]string{"execute": "command", "process_output": "process_id", "process_list": "offset", "process_signal": "signal"} {
		data, err := json.Marshal(req.tools[name])
		if err != nil || !strings.Contains(string(data), `"`+argument+`"`) {
			return "no schema of " + name + " with " + argument
		}
	}
	if !regexp.MustCompile(s.want).MatchString(req.result) {
		return fmt.Sprintf("the result %q does not match %q", req.result, s.want)
	}
	if req.failed != nil && *req.failed != s.wantError {
		return fmt.Sprintf("the result's error flag is %t", *req.failed)
	}
	return ""
}
