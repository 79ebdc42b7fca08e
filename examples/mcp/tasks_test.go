package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/examples/internal/exampletest"
	"github.com/toolproc/toolproc/procmgr"
)

// A taskClient is a client that knows tasks, and sees its wire.
type taskClient struct {
	*client
	wire *wire
}

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

// ways are the ways to connect a client: over the first the protocol is that of
// 2026-07-28, and over the second the one before.
var ways = []struct {
	name   string
	chatID func(string) string
	dial   func(*testing.T, *server) mcp.Transport
}{
	{"in memory", stdioChat, func(t *testing.T, s *server) mcp.Transport {
		t.Helper()
		there, here := net.Pipe()
		_, err := s.mcp.Connect(t.Context(), &mcp.IOTransport{Reader: there, Writer: there}, nil)
		require.NoError(t, err)
		return &mcp.IOTransport{Reader: here, Writer: here}
	}},
	{"HTTP", httpChat, func(t *testing.T, s *server) mcp.Transport {
		t.Helper()
		return dialHTTP(t, listen(t, s))
	}},
}

func dialHTTP(t *testing.T, url string) mcp.Transport {
	t.Helper()
	own := &http.Transport{}
	t.Cleanup(own.CloseIdleConnections)
	return &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer{testToken, own}}}
}

// connectTasks connects a client with some capabilities. It can send the methods of the
// extension, whether it announces that or not.
func connectTasks(t *testing.T, transport mcp.Transport, caps *mcp.ClientCapabilities) *taskClient {
	t.Helper()
	return connectTasksWith(t, transport, &mcp.ClientOptions{Capabilities: caps})
}

func connectTasksWith(t *testing.T, transport mcp.Transport, opts *mcp.ClientOptions) *taskClient {
	t.Helper()
	opts.Logger = quiet
	m := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opts)
	require.NoError(t, errors.Join(
		mcp.AddSendingCustomMethod[*taskParams, *taskResult](m, "tasks/get"),
		mcp.AddSendingCustomMethod[*taskParams, *taskAck](m, "tasks/update"),
		mcp.AddSendingCustomMethod[*taskParams, *taskAck](m, "tasks/cancel"),
	))
	c := &taskClient{client: &client{}, wire: &wire{}}
	var err error
	c.ClientSession, err = m.Connect(t.Context(), &mcp.LoggingTransport{Transport: transport, Writer: c.wire}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// announced returns the capabilities of a client that knows tasks, and can ask its user.
func announced() *mcp.ClientCapabilities {
	caps := &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}}
	caps.AddExtension(tasksExtension, nil)
	return caps
}

// execute returns the result of a call as it came over the wire, and its task if it has
// become one.
func (c *taskClient) execute(t *testing.T, arguments args) (task *taskResult, raw string) {
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
func (c *taskClient) start(t *testing.T, arguments args) *taskResult {
	t.Helper()
	task, raw := c.execute(t, arguments)
	require.NotNil(t, task, raw)
	require.Equal(t, "working", task.Status)
	require.Nil(t, task.TTL)
	require.WithinDuration(t, time.Now(), task.CreatedAt, long)
	return task
}

func (c *taskClient) get(t *testing.T, id string) *taskResult {
	t.Helper()
	res, err := mcp.CallCustomMethod[*taskParams, *taskResult](t.Context(), c.ClientSession, "tasks/get", &taskParams{TaskID: id})
	require.NoError(t, err)
	require.Equal(t, "complete", res.ResultType)
	require.Equal(t, id, res.TaskID)
	return res
}

// until asks for a task until it has a status.
func (c *taskClient) until(t *testing.T, id, status string) (res *taskResult) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if res = c.get(t, id); res.Status == status {
			return res
		}
		require.Less(t, time.Since(began), long, res.Status)
	}
}

// saying asks for a task until it has a message.
func (c *taskClient) saying(t *testing.T, id, message string) (res *taskResult) {
	t.Helper()
	require.Eventually(t, func() bool {
		res = c.get(t, id)
		return res.StatusMessage == message
	}, long, 10*time.Millisecond)
	return res
}

func (c *taskClient) cancel(t *testing.T, id string) {
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

// A command that runs on is a task: the process. Its result is that of the call, the same
// at each time.
func TestTask(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			local, dir := newLocal(t)
			c := connectTasks(t, way.dial(t, newServer(local, way.chatID, maxWait, quiet)), announced())
			require.Contains(t, c.InitializeResult().Capabilities.Extensions, tasksExtension)
			task := c.start(t, untilGo("echo out; exit 3"))
			page, err := local.List(t.Context(), procmgr.ListRequest{})
			require.NoError(t, err)
			require.Equal(t, page.Processes[0].ID, task.TaskID)

			working := c.saying(t, task.TaskID, "begun")
			require.Equal(t, "working", working.Status)
			require.Nil(t, working.Result)
			letGo(t, dir)
			ended := c.until(t, task.TaskID, "completed")
			require.Equal(t, task.CreatedAt, ended.CreatedAt)
			require.True(t, ended.LastUpdatedAt.After(task.LastUpdatedAt))
			res, isError := read(t, ended.Result)
			require.False(t, isError)
			require.False(t, res.Success)
			require.Empty(t, res.Error, "there was no timeout")
			require.Equal(t, "begun\nout\n", res.Output)
			require.Equal(t, 3, *res.ExitCode)
			require.InDelta(t, 3, ended.Result.StructuredContent.(map[string]any)["exit_code"], 0)

			_, _ = c.execute(t, args{"command": "cd /; echo between"})
			for range 2 {
				require.Equal(t, ended, c.get(t, task.TaskID))
			}
		})
	}
}

// These calls are answered as ever, though the client knows tasks.
func TestNoTask(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		arguments args
		want      string
	}{
		{"it ends", args{"command": "exit 3"}, `"exit_code":3`},
		{"background", args{"command": "exec sleep 1000", "run_in_background": true}, `"state":"running"`},
		{"an ampersand", args{"command": "sleep 1000 &"}, `"state":"running"`},
		{"detached", args{"command": "sleep 1000 & echo"}, `"state":"detached"`},
		{"a short timeout", args{"command": "exec sleep 1000", "timeout": "10ms"}, `still running after 10ms`},
		{"a wrong argument", args{"cmd": "ls"}, `"isError":true`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			local, _ := newLocal(t)
			s := newServer(local, stdioChat, maxWait, quiet)
			s.taskWait = long
			c := connectTasks(t, ways[0].dial(t, s), announced())
			task, raw := c.execute(t, test.arguments)
			require.Nil(t, task)
			require.Contains(t, raw, test.want)
			require.Contains(t, raw, `"resultType":"complete"`)
		})
	}
}

// A client that has not announced the extension sees what it has always seen.
func TestUnannounced(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			local, _ := newLocal(t)
			s := newServer(local, way.chatID, maxWait, quiet)
			c := connectTasks(t, way.dial(t, s), &mcp.ClientCapabilities{})
			_, raw := c.execute(t, args{"command": "exec sleep 1000", "timeout": "1500ms"})
			require.Contains(t, raw, "still running after 1.5s, the timeout; nothing was killed")
			for _, word := range []string{"taskId", "ttlMs", `"task"`} {
				require.NotContains(t, raw, word)
			}
			if way.name == "HTTP" {
				require.NotContains(t, raw, "resultType")
			}
			other := connectTasks(t, way.dial(t, s), announced())
			want, err := c.ListTools(t.Context(), nil)
			require.NoError(t, err)
			got, err := other.ListTools(t.Context(), nil)
			require.NoError(t, err)
			require.Equal(t, want.Tools, got.Tools)
		})
	}
}

// To cancel a task is to ask its process to end, and its output can be read after that.
func TestTaskCanceled(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, command, want string }{
		{"ended by the signal", "echo out; exec sleep 1000", "exit code 143; "},
		{"ended by itself", "trap 'exit 5' TERM; echo out; while :; do sleep 0.01; done", "exit code 5; "},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			local, _ := newLocal(t)
			c := connectTasks(t, ways[0].dial(t, newServer(local, stdioChat, maxWait, quiet)), announced())
			id := c.start(t, args{"command": test.command}).TaskID
			c.cancel(t, id)
			c.cancel(t, id)
			ended := c.until(t, id, "cancelled")
			require.Equal(t, test.want+`process_output {"process_id":"`+id+`"} has the output`, ended.StatusMessage)
			require.Nil(t, ended.Result)
			res, _ := c.call(t, "process_output", args{"process_id": id})
			require.Contains(t, res.Output, "out\n")
			c.cancel(t, id)
			require.Equal(t, ended, c.get(t, id))
		})
	}

	t.Run("ended before", func(t *testing.T) {
		t.Parallel()
		local, dir := newLocal(t)
		c := connectTasks(t, ways[0].dial(t, newServer(local, stdioChat, maxWait, quiet)), announced())
		id := c.start(t, untilGo("exit 3")).TaskID
		letGo(t, dir)
		ended := c.until(t, id, "completed")
		c.cancel(t, id)
		require.Equal(t, ended, c.get(t, id))
	})

	t.Run("ended by the model", func(t *testing.T) {
		t.Parallel()
		local, _ := newLocal(t)
		c := connectTasks(t, ways[0].dial(t, newServer(local, stdioChat, maxWait, quiet)), announced())
		id := c.start(t, args{"command": "exec sleep 1000"}).TaskID
		_, isError := c.call(t, "process_signal", args{"process_id": id, "signal": "terminate"})
		require.False(t, isError)
		res, _ := read(t, c.until(t, id, "completed").Result)
		require.Equal(t, 143, *res.ExitCode)
	})
}

// A client that cancels a call before it is a task stops the command, as ever.
func TestCanceledBeforeItIsATask(t *testing.T) {
	t.Parallel()
	local, dir := newLocal(t)
	s := newServer(local, stdioChat, maxWait, quiet)
	s.taskWait = long
	c := connectTasks(t, ways[0].dial(t, s), announced())
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan struct{})
	go func() { // the receive below waits for it
		defer close(answered)
		_, _ = c.CallTool(ctx, &mcp.CallToolParams{Name: "execute", Arguments: args{"command": "touch one; exec sleep 1000", "timeout": "1h"}})
	}()
	exampletest.WaitFor(t, filepath.Join(dir, "one"))
	cancel()
	<-answered
	require.Eventually(t, func() bool { // a process is listed a moment after it has begun
		all := waitForEnd(t, local)
		return len(all) == 1 && all[0].EndedBy == procmgr.CauseRequest
	}, long, 5*time.Millisecond)
}

// A call that goes wrong after it has become a task is completed, with a result that is an
// error.
func TestTaskError(t *testing.T) {
	t.Parallel()
	local, _ := newLocal(t)
	gone := make(chan struct{})
	host := procmgr.WrapHost(local, func(m procmgr.Manager) procmgr.Manager { return forgetful{m, gone} })
	c := connectTasks(t, ways[0].dial(t, newServer(host, stdioChat, maxWait, quiet)), announced())
	id := c.start(t, args{"command": "exec sleep 1000"}).TaskID
	close(gone)
	ended := c.until(t, id, "completed")
	require.True(t, ended.Result.IsError)
	require.Contains(t, ended.Result.Content[0].(*mcp.TextContent).Text, "the disk is gone")
}

// A forgetful manager cannot read output any more when something is gone.
type forgetful struct {
	procmgr.Manager
	gone <-chan struct{}
}

func (f forgetful) Output(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // ends with the call
		select {
		case <-f.gone:
			cancel()
		case <-ctx.Done():
		}
	}()
	out, err := f.Manager.Output(ctx, id, req)
	select {
	case <-f.gone:
		return procmgr.Output{}, errors.New("the disk is gone")
	default:
		return out, err
	}
}

// With -ask the user is asked before the command runs, for as long as that takes, and the
// call is a task after that.
func TestTaskApproved(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			local, dir := newLocal(t)
			s := newServerWith(local, way.chatID, toolset.Options{MaxTimeout: maxWait, Approve: approve}, quiet)
			c := connectTasksWith(t, way.dial(t, s), &mcp.ClientOptions{
				Capabilities: announced(),
				ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					<-time.After(taskWait + 200*time.Millisecond)
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"allow": "once"}}, nil
				},
			})
			id := c.start(t, untilGo("touch made")).TaskID
			letGo(t, dir)
			res, _ := read(t, c.until(t, id, "completed").Result)
			require.True(t, res.Success)
			require.FileExists(t, filepath.Join(dir, "made"))
		})
	}
}

// A session knows its own tasks and no others.
func TestUnknownTask(t *testing.T) {
	t.Parallel()
	local, _ := newLocal(t)
	url := listen(t, newServer(local, httpChat, maxWait, quiet))
	a, b := connectTasks(t, dialHTTP(t, url), announced()), connectTasks(t, dialHTTP(t, url), announced())
	theirs := a.start(t, args{"command": "exec sleep 1000"}).TaskID
	b.execute(t, args{"command": "exec sleep 1000", "run_in_background": true})
	page, err := local.Chat(httpChat(b.ID())).List(t.Context(), procmgr.ListRequest{})
	require.NoError(t, err)
	for name, id := range map[string]string{"none": "", "unknown": "nosuchtask", "another session's": theirs, "a process that is no task": page.Processes[0].ID} {
		p := &taskParams{TaskID: id}
		_, get := mcp.CallCustomMethod[*taskParams, *taskResult](t.Context(), b.ClientSession, "tasks/get", p)
		_, update := mcp.CallCustomMethod[*taskParams, *taskAck](t.Context(), b.ClientSession, "tasks/update", p)
		_, cancel := mcp.CallCustomMethod[*taskParams, *taskAck](t.Context(), b.ClientSession, "tasks/cancel", p)
		for _, err := range []error{get, update, cancel} {
			var wire *jsonrpc.Error
			require.ErrorAs(t, err, &wire, name)
			require.EqualValues(t, jsonrpc.CodeInvalidParams, wire.Code, name)
		}
	}
	require.Equal(t, "working", a.get(t, theirs).Status)
}

// A task outlives the connection over which it was made, and ends with its session.
func TestTaskOutlivesConnection(t *testing.T) {
	t.Parallel()
	local, _ := newLocal(t)
	url := listen(t, newServer(local, httpChat, maxWait, quiet))
	transport := dialHTTP(t, url).(*mcp.StreamableClientTransport)
	c := connectTasks(t, transport, announced())
	task := c.start(t, args{"command": "exec sleep 1000"})

	transport.HTTPClient.Transport.(bearer).via.(*http.Transport).CloseIdleConnections()
	ask := func(method, body string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Mcp-Session-Id", c.ID())
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		own := &http.Transport{DisableKeepAlives: true}
		res, err := bearer{testToken, own}.RoundTrip(req)
		require.NoError(t, err)
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return res.StatusCode, string(text)
	}
	get := fmt.Sprintf(`{"jsonrpc":"2.0","id":"x","method":"tasks/get","params":{"taskId":%q}}`, task.TaskID)
	_, answer := ask(http.MethodPost, get)
	require.Contains(t, answer, `"status":"working"`)
	_, _ = ask(http.MethodDelete, "")
	require.Equal(t, procmgr.CauseRequest, waitForEnd(t, local)[0].EndedBy)
	status, _ := ask(http.MethodPost, get)
	require.Equal(t, http.StatusNotFound, status)
}

// A session keeps the tasks that run, and the newest of those that have ended.
func TestManyTasks(t *testing.T) {
	t.Parallel()
	c := &chat{}
	for i := range 2 * maxTasks {
		task := &task{id: fmt.Sprint(i), state: taskResult{Status: "working"}, ended: make(chan struct{})}
		c.keep(task)
		if i%2 == 0 {
			task.end(toolset.Result{})
		}
	}
	require.Len(t, c.tasks, maxTasks)
	for i, task := range c.tasks {
		require.Equal(t, fmt.Sprint(2*i+1), task.id)
	}
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
