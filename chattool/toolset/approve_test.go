package toolset_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
)

const noWayAround = "do not look for a way around it; tell the user if the task needs it"

// asked is a fake whose machine has a bash and whose processes take input.
type asked struct {
	*fake
	described int
	inputs    []procmgr.InputRequest
}

func (a *asked) Describe(context.Context) (procmgr.Description, error) {
	a.described++
	return procmgr.Description{Shell: "bash", OS: "linux"}, nil
}

func (a *asked) Input(_ context.Context, id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
	a.inputs = append(a.inputs, req)
	return procmgr.InputOutput{Output: running(id, ""), Written: len(req.Data)}, nil
}

// touched is how many requests have changed something.
func (a *asked) touched() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.starts) + len(a.inputs) + len(a.signals)
}

// Nothing has happened when Approve is asked, and nothing happens when it denies.
func TestApproveDenies(t *testing.T) {
	t.Parallel()
	var end context.CancelFunc
	type approve = func(context.Context, toolset.Question) (toolset.Verdict, error)
	answer := func(v toolset.Verdict, err error) approve {
		return func(context.Context, toolset.Question) (toolset.Verdict, error) { return v, err }
	}
	for _, policy := range []struct {
		name    string
		approve approve
		want    string
	}{
		{"a reason", answer(toolset.Verdict{Deny: true, Reason: "not on a Friday"}, nil), "denied: not on a Friday. N"},
		{"no reason", answer(toolset.Verdict{Deny: true}, nil), "denied: N"},
		{"an error", answer(toolset.Verdict{}, errors.New("nobody is there")), "denied: it could not be decided: nobody is there. N"},
		{"its own deadline", answer(toolset.Verdict{}, context.DeadlineExceeded), "denied: it could not be decided: context deadline exceeded. N"},
		{"a panic", func(context.Context, toolset.Question) (toolset.Verdict, error) { panic("oh") },
			"denied: it could not be decided: it panicked with oh. N"},
		{"a context that ends", func(context.Context, toolset.Question) (toolset.Verdict, error) {
			end()
			return toolset.Verdict{}, nil
		}, "denied: the call was canceled before it was allowed. N"},
	} {
		for _, tool := range []struct{ name, arguments, undone string }{
			{"execute", `{"command":"touch x"}`, "othing was started"},
			{"process_input", `{"process_id":"p1","text":"yes\n"}`, "othing was written"},
			{"process_signal", `{"process_id":"p1","signal":"kill"}`, "o signal was sent"},
		} {
			for _, format := range []toolset.Format{toolset.FormatJSON, toolset.FormatText} {
				t.Run(policy.name+" "+tool.name, func(t *testing.T) {
					ctx := t.Context()
					if policy.name == "a context that ends" {
						ctx, end = context.WithCancel(ctx)
						defer end()
					}
					m := &asked{fake: &fake{}}
					before := -1
					set := newSet(toolset.Static(m), &toolset.Options{
						Input: true, Format: format,
						Approve: func(ctx context.Context, q toolset.Question) (toolset.Verdict, error) {
							before = m.touched()
							return policy.approve(ctx, q)
						},
					})
					res := set.Call(ctx, toolset.Call{Name: tool.name, Arguments: json.RawMessage(tool.arguments)})
					require.Zero(t, before)
					require.Zero(t, m.touched())
					require.Equal(t, policy.want+tool.undone+": "+noWayAround, res.Report.Error)
					require.True(t, res.Report.Denied)
					require.False(t, res.Report.Success)
					require.False(t, res.IsError)
					require.Contains(t, res.Content, noWayAround)
					if format == toolset.FormatText {
						require.Regexp(t, "^denied\nerror: denied: ", res.Content)
					} else {
						require.Equal(t, true, contents(t, res)["denied"])
					}
				})
			}
		}
	}
}

// A Question has the call as it will be carried out.
func TestApproveQuestion(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, tool, arguments string
		want                  toolset.Question
	}{
		{"a command", "execute", `{"command":"cd sub && ls > x","workdir":"/src"}`, toolset.Question{Command: "cd sub && ls > x", WorkDir: "/src"}},
		{"promoted", "execute", `{"command":"sleep 5 &"}`, toolset.Question{Command: "sleep 5 "}},
		{"an input", "process_input", `{"process_id":"p1","text":"rm x\n","keys":["Tab","Esc","Ctrl+C","Alt+X"]}`,
			toolset.Question{Command: "rm x\n", ProcessID: "p1", Keys: []procmgr.Key{"tab", "escape", "ctrl-c", "alt-X"}}},
		{"a secret", "process_input", `"{\"process_id\":\"p1\",\"text\":\"hunter2\",\"secret\":\"true\",\"keys\":\"enter\"}"`,
			toolset.Question{ProcessID: "p1", Secret: true, Keys: []procmgr.Key{"enter"}}},
		{"a signal", "process_signal", `{"process_id":"p1","signal":"kill"}`, toolset.Question{ProcessID: "p1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := &asked{fake: &fake{}}
			tt.want.Shell, tt.want.Machine = "bash", procmgr.Description{Shell: "bash", OS: "linux"}
			tt.want.Call = toolset.Call{Name: tt.tool, Arguments: json.RawMessage(tt.arguments)}
			if tt.want.Secret {
				tt.want.Call.Arguments = json.RawMessage(`{"keys":"enter","process_id":"p1","secret":"true"}`)
			}
			times := 0
			set := newSet(toolset.Static(m), &toolset.Options{Input: true, Approve: func(_ context.Context, q toolset.Question) (toolset.Verdict, error) {
				times++
				require.Equal(t, tt.want, q)
				require.Zero(t, m.touched())
				clear(q.Call.Arguments) // changes nothing
				clear(q.Keys)
				return toolset.Verdict{}, nil
			}})
			for range 2 {
				res := set.Call(t.Context(), toolset.Call{Name: tt.tool, Arguments: json.RawMessage(tt.arguments)})
				require.Equal(t, 1, m.touched(), res.Content)
				if len(m.inputs) > 0 {
					require.NotContains(t, m.inputs[0].Keys, procmgr.Key(""))
				}
				m.starts, m.inputs, m.signals = nil, nil, nil
			}
			require.Equal(t, 2, times)
			require.Equal(t, 1, m.described, "it is remembered")
		})
	}
}

// Approve is not asked about calls that only read or that no tool can carry out.
func TestApproveIsNotAsked(t *testing.T) {
	t.Parallel()
	opts := &toolset.Options{Input: true, Approve: func(context.Context, toolset.Question) (toolset.Verdict, error) {
		t.Error("it is asked")
		return toolset.Verdict{}, nil
	}}
	for tool, arguments := range map[string]string{
		"process_output": `{"process_id":"p1"}`,
		"process_list":   `{}`,
		"execute":        `{"comand":"x"}`,
		"process_input":  `{"text":"x"}`,
		"process_signal": `{"process_id":"p1","signal":"?"}`,
	} {
		call(t, &asked{fake: &fake{}}, opts, tool, arguments)
	}
}

// If the process of a chosen ID has run, nothing is asked and nothing runs. Approve is
// asked about an ID without a process, and about an ID when it is unknown whether it
// has run.
func TestApproveAttaches(t *testing.T) {
	t.Parallel()
	host := newHost(t, nil)
	m := remote(t, host, nil, nil)
	times, deny := 0, true
	opts := fixed()
	opts.Approve = func(ctx context.Context, q toolset.Question) (toolset.Verdict, error) {
		times++
		page, err := m.List(ctx, procmgr.ListRequest{})
		require.NoError(t, err)
		require.Empty(t, page.Processes)
		return toolset.Verdict{Deny: deny}, nil
	}
	res, _ := call(t, m, opts, "execute", `{"command":"echo once"}`)
	require.True(t, res.Report.Denied)
	deny = false
	res, _ = call(t, m, opts, "execute", `{"command":"echo once"}`)
	require.False(t, res.Output.Attached)
	require.Equal(t, 2, times)

	deny = true
	res, _ = call(t, m, opts, "execute", `{"command":"echo once"}`)
	require.True(t, res.Output.Attached)
	require.Equal(t, "once\n", *res.Report.Output)
	res, _ = call(t, m, opts, "execute", `{"command":"echo other"}`)
	require.Contains(t, res.Report.Error, "nothing was started by this call")
	require.Equal(t, 2, times)

	// A Host sees the process of the chat, and would start another one.
	opts.Approve = func(context.Context, toolset.Question) (toolset.Verdict, error) {
		return toolset.Verdict{Deny: true}, nil
	}
	res, _ = call(t, host, opts, "execute", `{"command":"echo once"}`)
	require.True(t, res.Report.Denied)

	lost := &asked{fake: &fake{output: func(context.Context, string, procmgr.OutputRequest) (procmgr.Output, error) {
		return procmgr.Output{}, errors.Join(procmgr.ErrNotFound, procmgr.ErrUnknown)
	}}}
	res, _ = call(t, lost, opts, "execute", `{"command":"x"}`)
	require.True(t, res.Report.Denied)
	require.Zero(t, lost.touched())
}
