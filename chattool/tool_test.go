package chattool_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"charm.land/fantasy"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool"
	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
)

func named(id string) *toolset.Options {
	return &toolset.Options{ProcessID: func(context.Context, toolset.Call) string { return id }}
}

func TestInfo(t *testing.T) {
	t.Parallel()
	managers := toolset.Static(&fake{})
	defs := newSet(managers, nil).Definitions()
	tools, again := all(managers, nil), all(managers, nil)
	require.Len(t, tools, len(defs))
	for i, tool := range tools {
		t.Run(defs[i].Name, func(t *testing.T) {
			t.Parallel()
			info := tool.Info()
			require.Equal(t, defs[i].Name, info.Name)
			require.Equal(t, defs[i].Description, info.Description)
			require.Equal(t, defs[i].Parallel, info.Parallel)
			require.NotNil(t, info.Required)
			require.NotNil(t, info.Parameters)
			// The same schema, in the form that fantasy builds.
			schema := map[string]any{"type": "object", "properties": info.Parameters, "additionalProperties": false}
			if len(info.Required) > 0 {
				schema["required"] = info.Required
			}
			data, err := json.Marshal(schema)
			require.NoError(t, err)
			require.JSONEq(t, string(defs[i].Schema), string(data))

			// The caller owns the returned value.
			clear(info.Parameters)
			clear(info.Required)
			require.Equal(t, again[i].Info(), tool.Info())
		})
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	broken := func(context.Context) (procmgr.Manager, error) { return nil, errors.New("the workspace is stopped") }
	for _, tt := range []struct {
		name     string
		managers toolset.Resolver
		input    string
		isError  bool
		content  string
		metadata string
	}{
		{"success", toolset.Static(&fake{text: "<hi>"}), `{"command":"x"}`, false, `"output":"<hi>"`, `{"process_id":"p1","state":"exited","exit_code":0}`},
		{"failure", toolset.Static(&fake{exit: 2}), `{"command":"x"}`, false, `{"success":false,`, `{"process_id":"p1","state":"exited","exit_code":2}`},
		{"timeout", toolset.Static(&fake{exit: -1}), `{"command":"x"}`, false, `"process_id":"p1"`, `{"process_id":"p1","state":"running"}`},
		{"mistake", toolset.Static(&fake{}), `{"cmd":"x"}`, true, `it is called \"command\"`, ``},
		{"nothing", toolset.Static(&fake{}), ``, true, `missing and required`, ``},
		{"no manager", broken, `{"command":"x"}`, true, `the workspace is stopped`, ``},
		{"panic", toolset.Static(&fake{panics: true}), `{"command":"x"}`, true, `may have started as process p1`, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			// A host may give the tool another name.
			response, err := all(tt.managers, named("p1"))[0].Run(t.Context(), fantasy.ToolCall{ID: "1", Name: "bash", Input: tt.input})
			require.NoError(t, err)
			require.Equal(t, "text", response.Type)
			require.Equal(t, tt.isError, response.IsError)
			require.Contains(t, response.Content, tt.content)
			require.Equal(t, tt.metadata, response.Metadata)
			require.True(t, json.Valid([]byte(response.Content)))
		})
	}
}

func TestRunCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tool := range all(toolset.Static(&fake{exit: -1}), nil) {
		_, err := tool.Run(ctx, fantasy.ToolCall{Name: tool.Info().Name, Input: `{"command":"x"}`})
		require.NoError(t, err)
	}
}

type cached struct{ fantasy.ProviderOptionsData }

func TestProviderOptions(t *testing.T) {
	t.Parallel()
	tools := all(toolset.Static(&fake{}), nil)
	require.Nil(t, tools[0].ProviderOptions())
	opts := fantasy.ProviderOptions{"anthropic": cached{}}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			tools[0].SetProviderOptions(opts)
			tools[0].ProviderOptions()
			tools[0].Info()
		})
	}
	wg.Wait()
	require.Equal(t, opts, tools[0].ProviderOptions())
	require.Nil(t, tools[1].ProviderOptions(), "each tool has its own")
}

// fantasy gets the names that the host chose, and results use them too.
func TestNames(t *testing.T) {
	t.Parallel()
	opts := &toolset.Options{Names: map[string]string{"execute": "bash", "process_output": "bash_output"}}
	tools := all(toolset.Static(&fake{exit: -1}), opts)
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Info().Name)
	}
	require.Equal(t, []string{"bash", "bash_output", "process_list", "process_signal"}, names)

	response, err := tools[0].Run(t.Context(), fantasy.ToolCall{ID: "1", Name: "bash", Input: `{"command":"x"}`})
	require.NoError(t, err)
	require.False(t, response.IsError)
	require.Contains(t, response.Content, "Use bash_output {")
	require.NotContains(t, response.Content, "process_output")

	opts.Names["bash"] = "sh"
	_, err = chattool.All(toolset.Static(&fake{}), opts)
	require.ErrorContains(t, err, "chattool: toolset: new: Options.Names: it has")
}

// A fake is a Manager that runs nothing. A process that it "starts" has already
// ended with exit. If exit is negative, the process runs on.
type fake struct {
	procmgr.Unsupported
	exit     int
	text     string
	panics   bool
	commands []string
}

var _ procmgr.Manager = (*fake)(nil)

func (f *fake) Start(_ context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	f.commands = append(f.commands, req.Command)
	if f.panics {
		panic("ouch")
	}
	return f.Output(context.Background(), req.ID, procmgr.OutputRequest{})
}

func (f *fake) Output(_ context.Context, id string, _ procmgr.OutputRequest) (procmgr.Output, error) {
	out := procmgr.Output{Process: procmgr.Process{ID: id, State: procmgr.Running}, Text: f.text}
	if f.exit >= 0 {
		out.Process.State, out.Process.ExitCode, out.Process.EndedBy = procmgr.Exited, &f.exit, procmgr.CauseExit
	}
	return out, nil
}

func (f *fake) List(context.Context, procmgr.ListRequest) (procmgr.ListPage, error) {
	return procmgr.ListPage{}, nil
}

// Events are always lost, so that the Set asks for each process.
func (f *fake) Events(context.Context, procmgr.EventsRequest) (procmgr.EventPage, error) {
	return procmgr.EventPage{Next: "1", Gap: true}, nil
}

func (f *fake) Signal(context.Context, string, procmgr.Signal) error { return nil }

// newSet and all are toolset.New and chattool.All with options that they take.
func newSet(managers toolset.Resolver, opts *toolset.Options) *toolset.Set {
	set, err := toolset.New(managers, opts)
	if err != nil {
		panic(err)
	}
	return set
}

func all(managers toolset.Resolver, opts *toolset.Options) []fantasy.AgentTool {
	tools, err := chattool.All(managers, opts)
	if err != nil {
		panic(err)
	}
	return tools
}
