package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
)

// A command that runs on is a task: the process. The result of the task is the result
// of the call, the same each time.
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
			c := connectTasks(t, dialMemory(t, s), announced())
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

// To cancel a task is to ask its process to end, and its output can be read after that. A
// task that has ended, or that the model ends, stays what it is.
func TestTaskCanceled(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, command, first, want string }{
		{"ended by the signal", "echo out; exec sleep 1000", "cancel", "exit code 143; "},
		{"ended by itself", "trap 'exit 5' TERM; echo out; while :; do sleep 0.01; done", "cancel", "exit code 5; "},
		{"ended before", "echo out; until [ -e go ]; do sleep 0.01; done", "go", ""},
		{"ended by the model", "echo out; exec sleep 1000", "signal", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			local, dir := newLocal(t)
			c := connectTasks(t, dialMemory(t, newServer(local, stdioChat, maxWait, quiet)), announced())
			id, status := c.start(t, args{"command": test.command}).TaskID, "completed"
			switch test.first {
			case "go":
				letGo(t, dir)
			case "signal":
				_, isError := c.call(t, "process_signal", args{"process_id": id, "signal": "terminate"})
				require.False(t, isError)
			default:
				status = "cancelled"
				c.cancel(t, id)
				c.cancel(t, id)
			}
			ended := c.until(t, id, status)
			if status == "cancelled" {
				require.Equal(t, test.want+`process_output {"process_id":"`+id+`"} has the output`, ended.StatusMessage)
			}
			require.Equal(t, status == "cancelled", ended.Result == nil)
			res, _ := c.call(t, "process_output", args{"process_id": id})
			require.Contains(t, res.Output, "out\n")
			c.cancel(t, id)
			require.Equal(t, ended, c.get(t, id))
		})
	}
}

// A client that cancels a call before it is a task stops the command, as ever.
func TestCanceledBeforeItIsATask(t *testing.T) {
	t.Parallel()
	local, dir := newLocal(t)
	s := newServer(local, stdioChat, maxWait, quiet)
	s.taskWait = long
	c := connectTasks(t, dialMemory(t, s), announced())
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan struct{})
	go func() { // the receive below waits for it
		defer close(answered)
		_, _ = c.CallTool(ctx, &mcp.CallToolParams{Name: "execute", Arguments: args{"command": "touch one; exec sleep 1000", "timeout": "1h"}})
	}()
	waitForFile(t, filepath.Join(dir, "one"))
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
	host := procmgr.WrapHost(local, func(_ string, m procmgr.Manager) procmgr.Manager { return forgetful{m, gone} })
	c := connectTasks(t, dialMemory(t, newServer(host, stdioChat, maxWait, quiet)), announced())
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
			s := serverWith(local, way.chatID, toolset.Options{MaxTimeout: maxWait, Approve: approve}, quiet)
			c := connect(t, way.dial(t, s), &mcp.ClientOptions{
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
	a, b := connectTasks(t, dialHTTP(t, url, testToken, nil), announced()), connectTasks(t, dialHTTP(t, url, testToken, nil), announced())
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
	transport := dialHTTP(t, url, testToken, nil).(*mcp.StreamableClientTransport)
	c := connectTasks(t, transport, announced())
	task := c.start(t, args{"command": "exec sleep 1000"})

	transport.HTTPClient.Transport.(bearer).via.(*http.Transport).CloseIdleConnections()
	own := func(r *http.Request) { r.Header.Set("Mcp-Session-Id", c.ID()) }
	get := fmt.Sprintf(`{"jsonrpc":"2.0","id":"x","method":"tasks/get","params":{"taskId":%q}}`, task.TaskID)
	_, _, answer := ask(t, http.MethodPost, url, get, own)
	require.Contains(t, answer, `"status":"working"`)
	ask(t, http.MethodDelete, url, "", own)
	require.Equal(t, procmgr.CauseRequest, waitForEnd(t, local)[0].EndedBy)
	status, _, _ := ask(t, http.MethodPost, url, get, own)
	require.Equal(t, http.StatusNotFound, status)
}

// A session keeps the running tasks, and the newest of the ended ones.
func TestManyTasks(t *testing.T) {
	t.Parallel()
	c := &chat{}
	for i := range 2 * maxTasks {
		task := &task{id: fmt.Sprint(i), state: taskResult{Status: "working"}, ended: make(chan struct{})}
		c.add(task)
		if i%2 == 0 {
			task.end(toolset.Result{})
		}
	}
	require.Len(t, c.tasks, maxTasks)
	for i, task := range c.tasks {
		require.Equal(t, fmt.Sprint(2*i+1), task.id)
	}
}
