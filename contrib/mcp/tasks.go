package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
)

// tasksExtension is the extension "tasks" of the protocol. The SDK does not have it;
// all of it is in this file and in keep.go. A call of execute whose command runs for
// longer than taskWait is answered with a task, so that the client keeps no call open.
// The task is the process and has its ID. Its result is the result of the call, as if
// the client had waited without a timeout. A call is answered as usual if its own
// timeout is no longer than taskWait, or if it leaves a process in the background.
//
// Where the extension can be read in several ways: A task begins as "working". An
// answer to tasks/update and tasks/cancel has only a resultType. A request for a task
// need not announce the extension again. A task that is cancelled has a statusMessage
// and no result. No task is "failed", since a call that goes wrong has a result that
// says so.
const tasksExtension = "io.modelcontextprotocol/tasks"

const (
	taskWait = time.Second
	taskPoll = time.Second // how often a client should ask for a task
	maxTasks = 64          // of a session, which then forgets the oldest that has ended
)

// asksKey is the key in the context of a request of whether its client can ask its user.
type asksKey struct{}

// A taskResult is the answer to a call that has become a task, and to tasks/get.
type taskResult struct {
	mcp.ResultBase
	ResultType    string              `json:"resultType"`
	TaskID        string              `json:"taskId"`
	Status        string              `json:"status"`
	StatusMessage string              `json:"statusMessage,omitempty"`
	CreatedAt     time.Time           `json:"createdAt"`
	LastUpdatedAt time.Time           `json:"lastUpdatedAt"`
	TTL           *int64              `json:"ttlMs"` // null: as long as the session or the keeper, but see maxTasks
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
	manager      procmgr.Manager
	elicits      bool   // the client can ask its user
	id           string // of the process as well
	wait         time.Duration
	kept         bool          // it is the answer
	begun, ended chan struct{} // closed when the command has run for wait, and when the call has its result

	canceled atomic.Bool // the client has asked for it
	declined atomic.Bool // the user has not answered a question

	mu    sync.Mutex // guards state
	state taskResult // but for its ResultType, and for a question
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
		r, ok := req.(interface {
			ClientCapabilities() *mcp.ClientCapabilities
		})
		if !ok || r.ClientCapabilities() == nil {
			return next(ctx, method, req)
		}
		can := r.ClientCapabilities().Elicitation
		asks := can != nil && (can.Form != nil || can.URL == nil)
		if r.ClientCapabilities().Extensions[tasksExtension] == nil || method != "tools/call" {
			return next(context.WithValue(ctx, asksKey{}, asks), method, req)
		}
		t := &task{elicits: asks, begun: make(chan struct{}), ended: make(chan struct{})}
		res, err := next(context.WithValue(ctx, taskKey{}, t), method, req)
		if err == nil && t.kept {
			made := t.told("task")
			made.Status, made.Result = "working", nil // though it may have ended by now
			return made, nil
		}
		return res, err
	}
}

// answer carries out a call. If it becomes a task, it goes on, and the result does not
// matter. The goroutine ends with the process or the session, and cleanUp waits for it.
func (s *server) answer(ctx context.Context, chat *chat, c toolset.Call) *mcp.CallToolResult {
	t, ok := ctx.Value(taskKey{}).(*task)
	if !ok || c.Name != "execute" {
		return resultOf(s.tools.Call(ctx, c))
	}
	t.manager, t.id, t.wait = chat.manager, c.ID, s.taskWait
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
			chat.mu.Lock()
			chat.add(t)
			chat.mu.Unlock()
			return &mcp.CallToolResult{}
		}
		<-t.ended // soon: the client has canceled the call, which stops the command
	}
	return t.state.Result
}

// add adds a task to the session. The caller holds mu.
func (c *chat) add(t *task) {
	if len(c.tasks) >= maxTasks {
		if i := slices.IndexFunc(c.tasks, func(t *task) bool { return t.told("").Status != "working" }); i >= 0 {
			c.tasks = slices.Delete(c.tasks, i, i+1)
		}
	}
	c.tasks = append(c.tasks, t)
}

// task returns a task, or nil. The caller holds mu.
func (c *chat) task(id string) *task {
	if i := slices.IndexFunc(c.tasks, func(t *task) bool { return t.id == id }); i >= 0 {
		return c.tasks[i]
	}
	return nil
}

// A patient manager waits for the end of a process, and not for a time.
type patient struct {
	procmgr.Manager
	task *task
}

func (p patient) Start(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	if req.Background || req.Wait <= p.task.wait {
		return p.Manager.Start(ctx, req)
	}
	req.Wait = p.task.wait
	out, err := p.Manager.Start(ctx, req)
	if err != nil || !p.task.goesOn(out) {
		return out, err
	}
	p.task.begin(out)
	close(p.task.begun)
	return p.task.await(ctx, out, procmgr.OutputRequest{Limit: req.Limit})
}

// begin makes the first state of a task.
func (t *task) begin(out procmgr.Output) {
	began := out.Process.StartedAt.UTC()
	t.state = taskResult{TaskID: t.id, Status: "working", CreatedAt: began, LastUpdatedAt: began, PollInterval: taskPoll.Milliseconds()}
}

// await waits until the process does not go on without the model.
func (t *task) await(ctx context.Context, out procmgr.Output, req procmgr.OutputRequest) (procmgr.Output, error) {
	req.State = procmgr.Running
	for t.goesOn(out) {
		req.Wait, req.UntilWaiting = taskPoll, false
		if out.Process.Waiting == nil {
			req.Wait, req.UntilWaiting = time.Minute, out.Process.Stdin != procmgr.StdinEmpty
		}
		newer, err := t.manager.Output(ctx, t.id, req)
		if err != nil {
			return out, err
		}
		out = newer
	}
	return out, nil
}

// goesOn reports whether the process will go on without the model.
func (t *task) goesOn(out procmgr.Output) bool {
	return out.Process.State == procmgr.Running && (out.Process.Waiting == nil || t.asks(out.Process.Waiting))
}

// asks reports whether the user is to answer a process. If the client cannot ask or the
// user has declined, the call ends as ever and the model answers; and so it does if the
// process wants a password, for which the protocol allows no form.
func (t *task) asks(w *procmgr.Waiting) bool {
	return t.elicits && !t.declined.Load() && !w.Secret
}

func (t *task) end(res toolset.Result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state.Status, t.state.Result, t.state.LastUpdatedAt = "completed", resultOf(res), time.Now().UTC()
	if t.canceled.Load() && res.Output != nil && res.Output.Process.EndedBy == procmgr.CauseRequest {
		t.state.Status, t.state.Result = "cancelled", nil
		if code := res.Output.Process.ExitCode; code != nil {
			t.state.StatusMessage = fmt.Sprintf("exit code %d; ", *code)
		}
		t.state.StatusMessage += fmt.Sprintf(`process_output {"process_id":%q} has the output`, t.id)
	}
	close(t.ended)
}

func (t *task) told(resultType string) *taskResult {
	t.mu.Lock()
	defer t.mu.Unlock()
	res := t.state
	res.ResultType = resultType
	return &res
}

// onTask returns the handler of a method for a task of the session. A task of another
// session is as unknown as any other ID.
func onTask[R mcp.Result](s *server, do func(context.Context, *task, *taskParams) (R, error)) func(context.Context, *mcp.ServerSession, *taskParams) (R, error) {
	return func(ctx context.Context, session *mcp.ServerSession, params *taskParams) (none R, err error) {
		c := s.chatOf(session)
		var t *task
		if params != nil {
			c.mu.Lock()
			t = c.task(params.TaskID)
			c.mu.Unlock()
			if t == nil {
				asks, _ := ctx.Value(asksKey{}).(bool)
				t = s.found(ctx, c, params.TaskID, asks)
			}
		}
		if t == nil {
			return none, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "this session has no such task, or has had many since"}
		}
		return do(ctx, t, params)
	}
}

// look returns the newest output of the process, and the key of its question to the user
// or "". A process that waits again asks another question.
func (t *task) look(ctx context.Context) (out procmgr.Output, question string) {
	out, _ = t.manager.Output(ctx, t.id, procmgr.OutputRequest{}) // the result of the call will tell an error
	if w := out.Process.Waiting; w != nil && t.asks(w) {
		question = fmt.Sprintf("input-%d", w.Since.UnixNano())
	}
	return out, question
}

func getTask(ctx context.Context, t *task, _ *taskParams) (*taskResult, error) {
	res := t.told("complete")
	if res.Status != "working" {
		return res, nil
	}
	out, question := t.look(ctx)
	res.StatusMessage, res.LastUpdatedAt = newestLine(out.Text), time.Now().UTC()
	if question != "" {
		res.Status = "input_required"
		res.InputRequests = mcp.InputRequestMap{question: &mcp.ElicitParams{
			Message:         cmp.Or(res.StatusMessage, "The command waits for input."),
			RequestedSchema: json.RawMessage(`{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}`),
		}}
	}
	return res, nil
}

func acknowledged() (*taskAck, error) { return &taskAck{ResultType: "complete"}, nil }

// updateTask writes an answer to the process that waits for it, once.
func updateTask(ctx context.Context, t *task, params *taskParams) (*taskAck, error) {
	out, question := t.look(ctx)
	answer, ok := params.InputResponses[question].(*mcp.ElicitResult)
	if question == "" || !ok {
		return acknowledged()
	}
	text, ok := answer.Content["input"].(string)
	input := procmgr.InputRequest{IdempotencyKey: question, Data: []byte(text + "\n"), Wait: 5 * time.Second}
	if out.Process.Stdin == procmgr.StdinTerminal {
		input.Data, input.Keys = []byte(text), []procmgr.Key{"enter"}
	}
	if !ok || answer.Action != "accept" {
		t.declined.Store(true)
	} else if _, err := t.manager.Input(ctx, t.id, input); errors.Is(err, procmgr.ErrInvalid) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: procmgr.Reason(err)}
	}
	return acknowledged()
}

// cancelTask asks the process to end. How it ends, tasks/get tells. A process that lives
// on after its task is the model's.
func cancelTask(ctx context.Context, t *task, _ *taskParams) (*taskAck, error) {
	if t.told("").Status == "working" {
		t.canceled.Store(true)
		_ = t.manager.Signal(ctx, t.id, procmgr.Terminate) // it may have ended
	}
	return acknowledged()
}
