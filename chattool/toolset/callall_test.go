package toolset_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
)

// An ordered notes when its calls begin and end. Each takes a second.
type ordered struct {
	procmgr.Unsupported
	note func(string)
}

func (o ordered) Start(_ context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	o.note("begins " + req.Command)
	time.Sleep(time.Second)
	o.note("ends " + req.Command)
	return procmgr.Output{Process: procmgr.Process{ID: req.ID, Command: req.Command, State: procmgr.Exited, ExitCode: new(int)}}, nil
}

func (o ordered) Output(_ context.Context, id string, _ procmgr.OutputRequest) (procmgr.Output, error) {
	o.note("begins " + id)
	time.Sleep(1500 * time.Millisecond)
	o.note("ends " + id)
	return procmgr.Output{Process: procmgr.Process{ID: id, State: procmgr.Exited, ExitCode: new(int)}}, nil
}

// What only reads runs beside what follows; all else begins once the call before it has
// ended. The results are in the order of the calls.
func TestCallAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, notes := time.Now(), make(chan string, 100)
		set := newSet(toolset.Static(ordered{note: func(what string) {
			notes <- fmt.Sprintf("%s %s", time.Since(began), what)
		}}), nil)
		call := func(name, arguments string) toolset.Call {
			return toolset.Call{Name: name, Arguments: json.RawMessage(arguments)}
		}
		results := set.CallAll(t.Context(), []toolset.Call{
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
		require.Equal(t, []string{"0s begins a", "1s ends a"}, got[:2])
		require.ElementsMatch(t, []string{"1s begins read", "1s begins b"}, got[2:4])
		require.Equal(t, []string{"2s ends b", "2s begins c", "2.5s ends read", "3s ends c"}, got[4:])
		require.Len(t, results, 5)
		require.Equal(t, "a", results[0].Output.Process.Command)
		require.Equal(t, "read", results[1].Output.Process.ID)
		require.Equal(t, "b", results[2].Output.Process.Command)
		require.True(t, results[3].IsError)
		require.Equal(t, "c", results[4].Output.Process.Command)
	})
	require.Empty(t, newSet(nowhere, nil).CallAll(t.Context(), nil))
}
