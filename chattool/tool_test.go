package chattool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"charm.land/fantasy"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool"
	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proctest"
)

// A script is a chat whose commands print "<hi>" and end with a code.
type script struct {
	procmgr.Manager
	host *proctest.Script
}

func newScript(t *testing.T, code int) *script {
	t.Helper()
	host := proctest.NewScript()
	t.Cleanup(func() { require.NoError(t, host.Close()) })
	host.On("*", func(c *proctest.Command) int {
		fmt.Fprint(c, "<hi>")
		return code
	})
	return &script{host.Chat("a"), host}
}

// runs returns the commands that have run.
func (s *script) runs() (commands []string) {
	for _, req := range s.host.Started() {
		commands = append(commands, req.Command)
	}
	return commands
}

// all is chattool.All with options that it takes.
func all(managers toolset.Resolver) []fantasy.AgentTool {
	tools, err := chattool.All(managers, &toolset.Options{ProcessID: func(_ context.Context, c toolset.Call) string { return "p-" + c.ID }})
	if err != nil {
		panic(err)
	}
	return tools
}

func broken(context.Context) (procmgr.Manager, error) {
	return nil, errors.New("the workspace is stopped")
}

func TestInfo(t *testing.T) {
	t.Parallel()
	set, err := toolset.New(broken, nil)
	require.NoError(t, err)
	defs, tools, again := set.Definitions(), chattool.Tools(set), all(broken)
	require.Len(t, tools, len(defs))
	for i, tool := range tools {
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
	}
	_, err = chattool.All(broken, &toolset.Options{Names: map[string]string{"bash": "sh"}})
	require.ErrorContains(t, err, "chattool: toolset: new: Options.Names: it has")
}

func TestRun(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		managers toolset.Resolver
		input    string
		isError  bool
		content  string
		metadata string
	}{
		{"success", toolset.Static(newScript(t, 0)), `{"command":"x"}`, false, `"output":"<hi>"`, `{"process_id":"p-1","state":"exited","exit_code":0}`},
		{"failure", toolset.Static(newScript(t, 2)), `{"command":"x"}`, false, `{"success":false,`, `{"process_id":"p-1","state":"exited","exit_code":2}`},
		{"mistake", toolset.Static(newScript(t, 0)), `{"cmd":"x"}`, true, `it is called \"command\"`, ``},
		{"nothing", toolset.Static(newScript(t, 0)), ``, true, `missing and required`, ``},
		{"no manager", broken, `{"command":"x"}`, true, `the workspace is stopped`, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			// A host may give the tool another name.
			response, err := all(tt.managers)[0].Run(t.Context(), fantasy.ToolCall{ID: "1", Name: "bash", Input: tt.input})
			require.NoError(t, err)
			require.Equal(t, "text", response.Type)
			require.Equal(t, tt.isError, response.IsError)
			require.Contains(t, response.Content, tt.content)
			require.Equal(t, tt.metadata, response.Metadata)
		})
	}
}

type cached struct{ fantasy.ProviderOptionsData }

func TestProviderOptions(t *testing.T) {
	t.Parallel()
	tools, opts := all(broken), fantasy.ProviderOptions{"anthropic": cached{}}
	require.Nil(t, tools[0].ProviderOptions())
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			tools[0].SetProviderOptions(opts)
			tools[0].ProviderOptions()
		})
	}
	wg.Wait()
	require.Equal(t, opts, tools[0].ProviderOptions())
	require.Nil(t, tools[1].ProviderOptions(), "each tool has its own")
}
