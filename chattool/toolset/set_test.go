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
	for _, tt := range []struct {
		name     string
		resolver toolset.Resolver
		want     string
	}{
		{"error", func(context.Context) (procmgr.Manager, error) { return nil, errors.New("the workspace is stopped") }, "the workspace is stopped"},
		{"nil", func(context.Context) (procmgr.Manager, error) { return nil, nil }, "there is no process manager for this chat"},
		{"nil pointer", func(context.Context) (procmgr.Manager, error) { return (*fake)(nil), nil }, "there is no process manager for this chat"},
		{"panic", func(context.Context) (procmgr.Manager, error) { panic("lost my head") }, "lost my head"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for tool, arguments := range anyCall {
				res := newSet(tt.resolver, nil).Call(t.Context(), toolset.Call{Name: tool, Arguments: json.RawMessage(arguments)})
				require.True(t, res.IsError)
				require.Contains(t, contents(t, res)["error"], tt.want)
				require.NotContains(t, res.Content, "may have started")
			}
		})
	}
}

func TestPanics(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, tool, arguments string
		opts                  *toolset.Options
		id                    bool
	}{
		{"start", "execute", `{"command":"x"}`, fixed(), true},
		{"output", "process_output", `{"process_id":"p1"}`, nil, false},
		{"list", "process_list", ``, nil, false},
		{"signal", "process_signal", `{"process_id":"p1","signal":"kill"}`, nil, false},
		{"hook", "execute", `{"command":"x"}`, &toolset.Options{ProcessID: func(context.Context, toolset.Call) string { panic("ouch") }}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &fake{
				start:  func(context.Context, procmgr.StartRequest) (procmgr.Output, error) { panic(errors.New("ouch")) },
				output: func(context.Context, string, procmgr.OutputRequest) (procmgr.Output, error) { panic("ouch") },
				list:   func(context.Context) ([]procmgr.Process, error) { panic("ouch") },
				signal: func(context.Context, string, procmgr.Signal) error { panic("ouch " + strings.Repeat("x", 1<<20)) },
			}
			res, got := call(t, m, tt.opts, tt.tool, tt.arguments)
			require.True(t, res.IsError)
			require.Contains(t, got["error"], "the tool failed unexpectedly: ouch")
			require.NotContains(t, res.Content, ".go:", "no stack")
			require.Less(t, len(res.Content), 4096)
			if tt.id {
				require.Equal(t, "p1", got["process_id"])
				require.Contains(t, got["note"], "may have started as process p1")
			} else {
				require.NotContains(t, got, "process_id")
			}
		})
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
