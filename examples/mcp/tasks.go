package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
)

// tasksExtension is the extension "tasks" of the protocol, which the SDK does not have;
// all of it is in this file. A call of execute whose command runs for longer than
// taskWait is answered with a task, so that the client keeps no call open. The task is
// the process and has its ID. Its result is that of the call, as if the client had
// waited without a timeout. A call is answered as ever if its own timeout is no longer
// than taskWait, or if it leaves a process in the background.
//
// Where the extension can be read in several ways, this was taken: A task begins as
// "working". An answer to tasks/update and tasks/cancel has a resultType alone. A request
// for a task need not announce the extension once more. A task that is cancelled has a
// statusMessage in the place of a result. No task is "failed", since a call that goes
// wrong has a result that says so.
const tasksExtension = "io.modelcontextprotocol/tasks"

const (
	taskWait = time.Second
	taskPoll = time.Second // how often a client should ask for a task
	// maxTasks is how many tasks a session keeps. Beyond that it forgets those that
	// have ended, the oldest first.
	maxTasks = 64
)

// A taskResult is the answer to a call that has become a task, and to tasks/get.
type taskResult struct {
	mcp.ResultBase
	ResultType    string              `json:"resultType"`
	TaskID        string              `json:"taskId"`
	Status        string              `json:"status"`
	StatusMessage string              `json:"statusMessage,omitempty"`
	CreatedAt     time.Time           `json:"createdAt"`
	LastUpdatedAt time.Time           `json:"lastUpdatedAt"`
	TTL           *int64              `json:"ttlMs"` // null: as long as the session, but see maxTasks
	PollInterval  int64               `json:"pollIntervalMs"`
	Result        *mcp.CallToolResult `json:"result,omitempty"`
	InputRequests mcp.InputRequestMap `json:"inputRequests,omitempty"`
}

type taskAck struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
}

type taskParams struct {
	mcp.ParamsBase
	TaskID         string               `json:"taskId"`
	InputResponses mcp.InputResponseMap `json:"inputResponses,omitempty"`
}

// A task is a call that may outlive its answer.
type task struct {
	manager procmgr.Manager
	elicits bool          // the client can ask its user
	begun   chan struct{} // closed when the command has run for taskWait
	ended   chan struct{} // closed when the call has its result
	process procmgr.Process
	kept    bool // it is the answer

	mu       sync.Mutex // guards the fields below
	status   string     // working, completed or cancelled
	message  string
	updated  time.Time
	result   *mcp.CallToolResult
	canceled bool // the client has asked for it
	declined bool // the user has not answered a question
}

// taskKey is the key of the task in the context of a call that may become one.
type taskKey struct{}

// addTasks adds the methods of the extension, which the capabilities announce.
func (s *server) addTasks() {
	err := errors.Join(
		mcp.AddReceivingCustomMethod(s.mcp, "tasks/get", onTask(s, getTask)),
		mcp.AddReceivingCustomMethod(s.mcp, "tasks/update", onTask(s, updateTask)),
		mcp.AddReceivingCustomMethod(s.mcp, "tasks/cancel", onTask(s, cancelTask)),
	)
	if err != nil {
		panic("mcp: the SDK has tasks of its own: " + err.Error())
	}
	s.mcp.AddReceivingMiddleware(offerTasks)
}

// offerTasks lets the calls of a client become tasks if it has announced the extension.
func offerTasks(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		r, ok := req.(*mcp.CallToolRequest)
		if !ok || r.ClientCapabilities() == nil || r.ClientCapabilities().Extensions[tasksExtension] == nil {
			return next(ctx, method, req)
		}
		t := &task{begun: make(chan struct{}), ended: make(chan struct{}), status: "working"}
		if can := r.ClientCapabilities().Elicitation; can != nil {
			t.elicits = can.Form != nil || can.URL == nil
		}
		res, err := next(context.WithValue(ctx, taskKey{}, t), method, req)
		if err == nil && t.kept {
			return t.describe("task"), nil
		}
		return res, err
	}
}

// answer carries out a call. If it becomes a task, it goes on, and the result that is
// returned does not matter. The goroutine ends with the process or with the session, and
// cleanUp waits for it.
func (s *server) answer(ctx context.Context, chat *chat, c toolset.Call) *mcp.CallToolResult {
	t, ok := ctx.Value(taskKey{}).(*task)
	if !ok || c.Name != "execute" {
		return resultOf(s.tools.Call(ctx, c))
	}
	t.manager = chat.manager
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	detach := context.AfterFunc(ctx, cancel)
	chat.calls.Go(func() {
		defer cancel()
		defer context.AfterFunc(chat.ending, cancel)()
		t.end(s.tools.Call(own, c))
	})
	select {
	case <-t.ended:
	case <-t.begun:
		if t.kept = detach(); t.kept {
			chat.keep(t)
			return &mcp.CallToolResult{}
		}
		<-t.ended // soon: the client has canceled the call, which stops the command
	}
	return t.result
}

// keep adds a task to those of the session.
func (c *chat) keep(t *task) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tasks = append(c.tasks, t)
	extra := len(c.tasks) - maxTasks
	c.tasks = slices.DeleteFunc(c.tasks, func(t *task) bool {
		if extra <= 0 || t.describe("").Status == "working" {
			return false
		}
		extra--
		return true
	})
}

// A patient manager waits for the end of a process, and not for a time.
type patient struct {
	procmgr.Manager
	task *task
}

func (p patient) Start(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	if req.Background || req.Wait <= taskWait {
		return p.Manager.Start(ctx, req)
	}
	req.Wait = taskWait
	out, err := p.Manager.Start(ctx, req)
	if err != nil || !p.task.goesOn(out) {
		return out, err
	}
	p.task.process, p.task.updated = out.Process, out.Process.StartedAt
	close(p.task.begun)
	for p.task.goesOn(out) {
		next := procmgr.OutputRequest{Wait: taskPoll, State: procmgr.Running, Limit: req.Limit}
		if out.Waiting == nil {
			next.Wait, next.UntilWaiting = time.Minute, req.Stdin != procmgr.StdinEmpty
		}
		newer, err := p.Output(ctx, req.ID, next)
		if err != nil {
			return out, err
		}
		out = newer
	}
	return out, nil
}

// goesOn reports whether the process will go on without the model.
func (t *task) goesOn(out procmgr.Output) bool {
	return out.Process.State == procmgr.Running && (out.Waiting == nil || t.asks(out.Waiting))
}

// asks reports whether the user is to answer a process. If the client cannot ask or the
// user has declined, the call ends as ever and the model answers; and so it does if the
// process wants a password, for which the protocol allows no form.
func (t *task) asks(w *procmgr.Waiting) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.elicits && !t.declined && !w.Secret
}

// end notes the result of the call.
func (t *task) end(res toolset.Result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.status, t.result, t.updated = "completed", resultOf(res), time.Now()
	if t.canceled && res.Output != nil && res.Output.Process.EndedBy == procmgr.CauseRequest {
		t.status, t.result = "cancelled", nil
		t.message = fmt.Sprintf(`process_output {"process_id":%q} has the output`, t.process.ID)
		if code := res.Output.Process.ExitCode; code != nil {
			t.message = fmt.Sprintf("exit code %d; ", *code) + t.message
		}
	}
	close(t.ended)
}

func (t *task) describe(resultType string) *taskResult {
	t.mu.Lock()
	defer t.mu.Unlock()
	return &taskResult{
		ResultType: resultType, TaskID: t.process.ID, Status: t.status, StatusMessage: t.message, Result: t.result,
		CreatedAt: t.process.StartedAt.UTC(), LastUpdatedAt: t.updated.UTC(), PollInterval: taskPoll.Milliseconds(),
	}
}

// onTask returns the handler of a method for a task of the session. A task of another
// session is as unknown as any other ID.
func onTask[R mcp.Result](s *server, do func(context.Context, *task, *taskParams) (R, error)) func(context.Context, *mcp.ServerSession, *taskParams) (R, error) {
	return func(ctx context.Context, session *mcp.ServerSession, params *taskParams) (none R, err error) {
		c := s.chatOf(session)
		c.mu.Lock()
		i := slices.IndexFunc(c.tasks, func(t *task) bool { return params != nil && t.process.ID == params.TaskID })
		if i < 0 {
			c.mu.Unlock()
			return none, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "this session has no such task, or has had many since"}
		}
		t := c.tasks[i]
		c.mu.Unlock()
		return do(ctx, t, params)
	}
}

// look returns the newest output of the process, and the key of its question to the user
// or "". A process that waits again asks another question.
func (t *task) look(ctx context.Context) (out procmgr.Output, question string) {
	req := procmgr.OutputRequest{}
	req.Limit.Bytes = 4 << 10
	out, _ = t.manager.Output(ctx, t.process.ID, req) // the result of the call will tell an error
	if w := out.Waiting; w != nil && t.asks(w) {
		question = "input-" + strconv.FormatInt(w.Since.UnixNano(), 36)
	}
	return out, question
}

func getTask(ctx context.Context, t *task, _ *taskParams) (*taskResult, error) {
	res := t.describe("complete")
	if res.Status != "working" {
		return res, nil
	}
	out, question := t.look(ctx)
	text := strings.TrimSpace(out.Text)
	res.StatusMessage = shown(text[strings.LastIndexByte(text, '\n')+1:])
	if question != "" {
		res.Status, res.LastUpdatedAt = "input_required", out.Waiting.Since.UTC()
		res.InputRequests = mcp.InputRequestMap{question: &mcp.ElicitParams{
			Message:         cmp.Or(res.StatusMessage, "The command waits for input."),
			RequestedSchema: json.RawMessage(`{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}`),
		}}
	}
	return res, nil
}

// updateTask writes an answer to the process that waits for it, once.
func updateTask(ctx context.Context, t *task, params *taskParams) (*taskAck, error) {
	ack := &taskAck{ResultType: "complete"}
	out, question := t.look(ctx)
	answer, ok := params.InputResponses[question].(*mcp.ElicitResult)
	if question == "" || !ok {
		return ack, nil
	}
	text, ok := answer.Content["input"].(string)
	ok = ok && answer.Action == "accept"
	t.mu.Lock()
	t.updated, t.declined = time.Now(), !ok
	t.mu.Unlock()
	if !ok {
		return ack, nil
	}
	input := procmgr.InputRequest{Key: question, Data: []byte(text), Wait: 5 * time.Second}
	if out.Process.Stdin == procmgr.StdinTerminal {
		input.Keys = []procmgr.Key{"enter"}
	} else {
		input.Data = append(input.Data, '\n')
	}
	if _, err := t.manager.Input(ctx, t.process.ID, input); errors.Is(err, procmgr.ErrInvalid) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: procmgr.Reason(err)}
	}
	return ack, nil
}

// cancelTask asks the process to end. How it ends, tasks/get tells.
func cancelTask(ctx context.Context, t *task, _ *taskParams) (*taskAck, error) {
	t.mu.Lock()
	t.canceled = true
	t.mu.Unlock()
	_ = t.manager.Signal(ctx, t.process.ID, procmgr.Terminate) // it may have ended
	return &taskAck{ResultType: "complete"}, nil
}
