package toolset_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proctest"
)

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
