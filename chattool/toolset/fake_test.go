package toolset_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A fake is a Manager whose answers a test scripts. A nil function answers as
// a manager would for a process that has exited with 0, and an empty list.
type fake struct {
	procmgr.Unsupported
	start  func(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error)
	output func(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error)
	list   func(ctx context.Context) ([]procmgr.Process, error)
	signal func(ctx context.Context, id string, sig procmgr.Signal) error

	mu      sync.Mutex // guards the fields below
	starts  []procmgr.StartRequest
	outputs []procmgr.OutputRequest
	signals []procmgr.Signal
}

var _ procmgr.Manager = (*fake)(nil)

func (f *fake) Start(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	f.mu.Lock()
	f.starts = append(f.starts, req)
	f.mu.Unlock()
	if f.start == nil {
		return exited(req.ID, 0, ""), nil
	}
	return f.start(ctx, req)
}

func (f *fake) Output(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	f.mu.Lock()
	f.outputs = append(f.outputs, req)
	f.mu.Unlock()
	if f.output == nil {
		return exited(id, 0, ""), nil
	}
	return f.output(ctx, id, req)
}

func (f *fake) List(ctx context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	if f.list == nil {
		return procmgr.ListPage{}, nil
	}
	all, err := f.list(ctx)
	page, invalid := procmgr.PageOf(all, req)
	return page, cmp.Or(err, invalid)
}

func (f *fake) Signal(ctx context.Context, id string, sig procmgr.Signal) error {
	f.mu.Lock()
	f.signals = append(f.signals, sig)
	f.mu.Unlock()
	if f.signal == nil {
		return nil
	}
	return f.signal(ctx, id, sig)
}

// began is when the fake's processes started.
var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func exited(id string, code int, text string) procmgr.Output {
	const took = 1500 * time.Millisecond
	return procmgr.Output{
		Process: procmgr.Process{
			ID: id, State: procmgr.Exited, ExitCode: &code, EndedBy: procmgr.CauseExit,
			StartedAt: began, ExitedAt: began.Add(took), Elapsed: took,
		},
		Text: text,
		Next: int64(len(text)),
	}
}

func running(id, text string) procmgr.Output {
	return procmgr.Output{
		Process: procmgr.Process{ID: id, State: procmgr.Running, StartedAt: began},
		Text:    text,
		Next:    int64(len(text)),
	}
}

func detached(id string, code int, text string) procmgr.Output {
	out := running(id, text)
	out.Process.State = procmgr.Detached
	out.Process.ExitCode = &code
	return out
}

// answerStart and answerOutput are functions of a fake that always answer with
// out.
func answerStart(out procmgr.Output) func(context.Context, procmgr.StartRequest) (procmgr.Output, error) {
	return func(context.Context, procmgr.StartRequest) (procmgr.Output, error) { return out, nil }
}

func answerOutput(out procmgr.Output) func(context.Context, string, procmgr.OutputRequest) (procmgr.Output, error) {
	return func(context.Context, string, procmgr.OutputRequest) (procmgr.Output, error) { return out, nil }
}

// anyCall has arguments for each of the four tools.
var anyCall = map[string]string{
	"execute":        `{"command":"x"}`,
	"process_output": `{"process_id":"p1"}`,
	"process_list":   `{}`,
	"process_signal": `{"process_id":"p1","signal":"kill"}`,
}

// fixed is the options with a process ID that tests can name.
func fixed() *toolset.Options {
	return &toolset.Options{ProcessID: func(context.Context, toolset.Call) string { return "p1" }}
}

var withInput = &toolset.Options{Input: true}

// arguments returns the arguments of a call: name, value, name, value.
func arguments(t *testing.T, pairs ...any) string {
	t.Helper()
	object := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		object[pairs[i].(string)] = pairs[i+1]
	}
	data, err := json.Marshal(object)
	require.NoError(t, err)
	return string(data)
}

// call makes one call, and returns the result that the model reads. It fails
// the test if that is not one JSON object on one line.
func call(t *testing.T, m procmgr.Manager, opts *toolset.Options, tool, arguments string) (toolset.Result, map[string]any) {
	t.Helper()
	return callContext(t.Context(), t, m, opts, tool, arguments)
}

func callContext(ctx context.Context, t *testing.T, m procmgr.Manager, opts *toolset.Options, tool, arguments string) (toolset.Result, map[string]any) {
	t.Helper()
	res := newSet(toolset.Static(m), opts).Call(ctx, toolset.Call{Name: tool, Arguments: json.RawMessage(arguments)})
	return res, contents(t, res)
}

func contents(t *testing.T, res toolset.Result) map[string]any {
	t.Helper()
	var got map[string]any
	require.NoError(t, json.Unmarshal([]byte(res.Content), &got), res.Content)
	require.NotContains(t, res.Content, "\n")
	return got
}

// nowhere is a Resolver without a manager.
func nowhere(context.Context) (procmgr.Manager, error) { return nil, errors.New("there is none") }

// newSet is toolset.New with options that it takes.
func newSet(managers toolset.Resolver, opts *toolset.Options) *toolset.Set {
	set, err := toolset.New(managers, opts)
	if err != nil {
		panic(err)
	}
	return set
}

// newHost returns a Local that is closed when the test ends.
func newHost(t testing.TB, opts *proclocal.Options) *proclocal.Local {
	t.Helper()
	l, err := proclocal.New(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}
