package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// A wire has the messages of a connection, one a line.
type wire struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *wire) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// connectTasks connects a client with some capabilities.
func connectTasks(t *testing.T, transport mcp.Transport, caps *mcp.ClientCapabilities) *client {
	t.Helper()
	return connect(t, transport, &mcp.ClientOptions{Capabilities: caps})
}

// announced returns the capabilities of a client that knows tasks, and can ask its user.
func announced() *mcp.ClientCapabilities {
	caps := &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}}
	caps.AddExtension(tasksExtension, nil)
	return caps
}

// execute returns the result of a call as it came over the wire, and its task if it has
// become one.
func (c *client) execute(t *testing.T, arguments args) (task *taskResult, raw string) {
	t.Helper()
	_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute", Arguments: arguments})
	require.NoError(t, err)
	read := strings.Split(c.wire.String(), "\nread: ")
	var message struct {
		Result json.RawMessage `json:"result"`
	}
	require.NoError(t, json.NewDecoder(strings.NewReader(read[len(read)-1])).Decode(&message))
	task = &taskResult{}
	require.NoError(t, json.Unmarshal(message.Result, task))
	if task.ResultType != "task" {
		task = nil
	}
	return task, string(message.Result)
}

// start starts a command that becomes a task.
func (c *client) start(t *testing.T, arguments args) *taskResult {
	t.Helper()
	task, raw := c.execute(t, arguments)
	require.NotNil(t, task, raw)
	require.Equal(t, "working", task.Status)
	require.Nil(t, task.TTL)
	require.WithinDuration(t, time.Now(), task.CreatedAt, long)
	return task
}

func (c *client) get(t *testing.T, id string) *taskResult {
	t.Helper()
	res, err := mcp.CallCustomMethod[*taskParams, *taskResult](t.Context(), c.ClientSession, "tasks/get", &taskParams{TaskID: id})
	require.NoError(t, err)
	require.Equal(t, "complete", res.ResultType)
	require.Equal(t, id, res.TaskID)
	return res
}

// until asks for a task until it has a status.
func (c *client) until(t *testing.T, id, status string) (res *taskResult) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if res = c.get(t, id); res.Status == status {
			return res
		}
		require.Less(t, time.Since(began), long, res.Status)
	}
}

// saying asks for a task until it has a message.
func (c *client) saying(t *testing.T, id, message string) (res *taskResult) {
	t.Helper()
	require.Eventually(t, func() bool {
		res = c.get(t, id)
		return res.StatusMessage == message
	}, long, 10*time.Millisecond)
	return res
}

func (c *client) cancel(t *testing.T, id string) {
	t.Helper()
	_, err := mcp.CallCustomMethod[*taskParams, *taskAck](t.Context(), c.ClientSession, "tasks/cancel", &taskParams{TaskID: id})
	require.NoError(t, err)
}

// untilGo is a command that waits for a file, so that it is a task for as long as the
// test wants.
func untilGo(then string) args {
	return args{"command": "echo begun; while [ ! -e go ]; do sleep 0.01; done; " + then}
}

func letGo(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
}

// exchanges returns the requests of a wire from a place on, each with its answer: without
// what differs from run to run, and of several tasks/get in a row the last one alone.
func (w *wire) exchanges(t *testing.T, from int, dir string) string {
	t.Helper()
	type message struct {
		ID     int            `json:"id"`
		Method string         `json:"method"`
		Params map[string]any `json:"params"`
		Result map[string]any `json:"result"`
		Error  any            `json:"error"`
	}
	requests, answers, last := map[int]message{}, map[int]message{}, 0
	for line := range strings.Lines(w.String()[from:]) { // an answer may be noted before its request
		way, text, _ := strings.Cut(line, ": ")
		var m message
		require.NoError(t, json.Unmarshal([]byte(text), &m))
		if way == "read" {
			answers[m.ID] = m
		} else {
			requests[m.ID] = m
		}
		last = max(last, m.ID)
	}
	var all strings.Builder
	for id := range last + 1 {
		request, ok := requests[id]
		if !ok || request.Method == "tasks/get" && requests[id+1].Method == "tasks/get" {
			continue
		}
		meta, _ := request.Params["_meta"].(map[string]any)
		delete(request.Params, "_meta")
		if request.Method == "tools/call" {
			request.Params["_meta"] = map[string]any{mcp.MetaKeyClientCapabilities: meta[mcp.MetaKeyClientCapabilities]}
		}
		answer := answers[id]
		delete(answer.Result, "_meta")
		var body any = answer.Result
		if answer.Error != nil {
			body = answer.Error
		}
		for _, part := range []any{request.Params, body} {
			data, err := json.Marshal(part)
			require.NoError(t, err)
			fmt.Fprintf(&all, "%s %s\n", request.Method, data)
			request.Method = "  →"
		}
	}
	text := strings.ReplaceAll(all.String(), dir, "<dir>")
	for _, varies := range []struct{ what, by string }{
		{`20\d\d-\d\d-\d\dT[\d:.]+Z`, "<time>"},
		{`input-\w+`, "<question>"},
		{`"seconds":[\d.e-]+,`, ""},
		{`,\\"duration\\":\\"[^"\\]+\\"`, ""},
		{`((?:taskId|process_id)\\*":\\*")[a-z2-7]{10}`, "$1<task>"},
	} {
		text = regexp.MustCompile(varies.what).ReplaceAllString(text, varies.by)
	}
	return text
}
