package toolset_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proctest"
)

func TestResolver(t *testing.T) {
	t.Parallel()
	for name, resolver := range map[string]toolset.Resolver{
		"the workspace is stopped":                  func(context.Context) (procmgr.Manager, error) { return nil, errors.New("the workspace is stopped") },
		"there is no process manager for this chat": func(context.Context) (procmgr.Manager, error) { return nil, nil },
		"so nothing was done; tell the user":        func(context.Context) (procmgr.Manager, error) { return (*fake)(nil), nil },
		"lost my head":                              func(context.Context) (procmgr.Manager, error) { panic("lost my head") },
	} {
		for tool, arguments := range anyCall {
			res := say(t, newSet(resolver, nil), tool, arguments)
			require.True(t, res.IsError)
			require.Contains(t, contents(t, res)["error"], name)
			require.NotContains(t, res.Content, "may have started")
		}
	}
}

// A call survives a manager or a hook that panics, and says which process may live.
func TestPanics(t *testing.T) {
	t.Parallel()
	m := &fake{
		start:  func(context.Context, procmgr.StartRequest) (procmgr.Output, error) { panic(errors.New("ouch")) },
		output: func(context.Context, string, procmgr.OutputRequest) (procmgr.Output, error) { panic("ouch") },
		list:   func(context.Context) ([]procmgr.Process, error) { panic("ouch") },
		signal: func(context.Context, string, procmgr.Signal) error { panic("ouch " + strings.Repeat("x", 1<<20)) },
	}
	hook := &toolset.Options{ProcessID: func(context.Context, toolset.Call) string { panic("ouch") }}
	for _, opts := range []*toolset.Options{fixed(), hook} {
		for tool, arguments := range anyCall {
			res, got := call(t, m, opts, tool, arguments)
			require.True(t, res.IsError)
			require.Contains(t, got["error"], "the tool failed unexpectedly: ouch")
			require.NotContains(t, res.Content, ".go:", "no stack")
			require.Less(t, len(res.Content), 4096)
			if tool == "execute" && opts != hook {
				require.Equal(t, "p1", got["process_id"])
				require.Contains(t, got["note"], "may have started as process p1")
			} else {
				require.NotContains(t, got, "process_id")
			}
		}
	}
}

// The paths of source files that %+v prints are nothing for a model.
func TestErrorsAreShort(t *testing.T) {
	t.Parallel()
	m := &fake{start: func(context.Context, procmgr.StartRequest) (procmgr.Output, error) {
		return procmgr.Output{}, fmt.Errorf("%s\xff: %w", strings.Repeat("é", 5000), procmgr.ErrInvalid)
	}}
	res, got := call(t, m, nil, "execute", `{"command":"x"}`)
	require.Less(t, len(res.Content), 2200)
	require.True(t, strings.HasSuffix(got["error"].(string), "é…"))
}

// What only reads runs beside what follows; all else begins once the call before it has
// ended. The results are in the order of the calls.
func TestCallAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := proctest.NewScript()
		defer func() { require.NoError(t, host.Close()) }()
		began, notes := time.Now(), make(chan string, 100)
		host.On("*", func(c *proctest.Command) int {
			notes <- fmt.Sprint(time.Since(began), " begins ", c.Request.Command)
			c.Sleep(time.Second)
			notes <- fmt.Sprint(time.Since(began), " ends ", c.Request.Command)
			return 0
		})
		host.On("slow", func(c *proctest.Command) int {
			c.Sleep(2500 * time.Millisecond)
			return 0
		})
		_, err := host.Start(t.Context(), procmgr.StartRequest{ID: "read", Command: "slow"})
		require.NoError(t, err)
		call := func(name, arguments string) toolset.Call {
			return toolset.Call{Name: name, Arguments: json.RawMessage(arguments)}
		}
		results := newSet(toolset.Static(host), nil).CallAll(t.Context(), []toolset.Call{
			call("execute", `{"command":"a"}`),
			call("process_output", `{"process_id":"read"}`),
			call("execute", `{"command":"b"}`),
			call("nosuchtool", `{}`),
			call("execute", `{"command":"c"}`),
		})
		close(notes)
		var got []string
		for note := range notes {
			got = append(got, note)
		}
		require.Equal(t, []string{"0s begins a", "1s ends a", "1s begins b", "2s ends b", "2s begins c", "3s ends c"}, got)
		require.Len(t, results, 5)
		require.Equal(t, "a", results[0].Output.Process.Command)
		require.Equal(t, procmgr.Exited, results[1].Output.Process.State)
		require.Equal(t, "b", results[2].Output.Process.Command)
		require.True(t, results[3].IsError)
		require.Equal(t, "c", results[4].Output.Process.Command)
	})
	require.Empty(t, newSet(nowhere, nil).CallAll(t.Context(), nil))
}
