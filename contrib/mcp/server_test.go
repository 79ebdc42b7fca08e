package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
)

func TestTools(t *testing.T) {
	c, local, _ := serve(t)
	require.Equal(t, "toolproc", c.InitializeResult().ServerInfo.Name)
	require.Contains(t, c.InitializeResult().Instructions, "process_id")

	res, err := c.ListTools(t.Context(), nil)
	require.NoError(t, err)
	defs := newServer(t, local, nil).tools.Definitions()
	require.Len(t, res.Tools, len(defs))
	require.NotContains(t, defs[0].Description, "if there is a bash", "the shell is known")
	tools := make(map[string]*mcp.Tool)
	for _, tool := range res.Tools {
		tools[tool.Name] = tool
	}
	for _, def := range defs {
		tool := tools[def.Name]
		require.NotNil(t, tool, def.Name)
		require.Equal(t, def.Description, tool.Description)
		schema, err := json.Marshal(tool.InputSchema)
		require.NoError(t, err)
		require.JSONEq(t, string(def.Schema), string(schema))
		require.Equal(t, annotations[def.Name], tool.Annotations)
		require.Equal(t, def.Parallel, tool.Annotations.ReadOnlyHint, "what only reads may run beside other calls")
	}
}

// The structured content of a result is the JSON that the model reads.
func TestStructured(t *testing.T) {
	c, _, dir := serve(t)
	call := func(name string, arguments args) map[string]any {
		t.Helper()
		res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
		require.NoError(t, err)
		require.False(t, res.IsError, "that a command fails is a result")
		data, err := json.Marshal(res.StructuredContent)
		require.NoError(t, err)
		require.JSONEq(t, res.Content[0].(*mcp.TextContent).Text, string(data))
		return res.StructuredContent.(map[string]any)
	}
	is := call("execute", args{"command": "pwd; echo '<&>'; exit 3"})
	require.Equal(t, dir+"\n<&>\n", is["output"])
	require.EqualValues(t, 3, is["exit_code"])
	require.Equal(t, false, is["success"])

	id := call("execute", args{"command": "exec sleep 1000", "run_in_background": true})["process_id"]
	listed := call("process_list", nil)["processes"].([]any)[0].(map[string]any)
	require.Equal(t, id, listed["process_id"])
	require.Equal(t, "running", listed["state"])
	require.Equal(t, "SIGKILL", call("process_signal", args{"process_id": id, "signal": "kill"})["signal"])
}

// A client that cancels a call stops the command of that call, and no other.
func TestCancel(t *testing.T) {
	c, local, dir := serve(t)
	res, _ := c.call(t, "execute", args{"command": "sleep 1000", "run_in_background": true})
	background := res.ID

	ctx, cancel := context.WithCancel(t.Context())
	canceled := make(chan error, 1)
	go func() { // the receive below waits for it
		_, err := c.CallTool(ctx, &mcp.CallToolParams{
			Name:      "execute",
			Arguments: args{"command": "touch one; exec sleep 1000", "timeout": "1h"},
		})
		canceled <- err
	}()
	waitForFile(t, filepath.Join(dir, "one"))
	cancel()
	require.ErrorIs(t, <-canceled, context.Canceled)

	require.Eventually(t, func() bool {
		page, err := local.List(t.Context(), procmgr.ListRequest{})
		all := page.Processes
		return err == nil && len(all) == 2 && all[1].State == procmgr.Exited && all[1].EndedBy == procmgr.CauseRequest
	}, long, 5*time.Millisecond)
	out, err := local.Output(t.Context(), background, procmgr.OutputRequest{})
	require.NoError(t, err)
	require.Equal(t, procmgr.Running, out.Process.State)
}

// When a session ends, its processes and its waiting calls end too.
func TestSessionEnds(t *testing.T) {
	c, local, dir := serve(t)
	for _, command := range []string{
		"sleep 1000",
		"trap '' TERM; touch two; while :; do sleep 1; done", // has to be killed
		"sleep 1000 & touch three",                           // its shell is gone
	} {
		_, isError := c.call(t, "execute", args{"command": command, "run_in_background": true})
		require.False(t, isError)
	}
	go func() { // ends with the session
		_, _ = c.CallTool(t.Context(), &mcp.CallToolParams{
			Name:      "execute",
			Arguments: args{"command": "touch one; exec sleep 1000", "timeout": "1h"},
		})
	}()
	for _, name := range []string{"one", "two", "three"} {
		waitForFile(t, filepath.Join(dir, name))
	}
	began := time.Now()
	c.leave(t)
	all := waitForEnd(t, local)
	require.Len(t, all, 4)
	require.Less(t, time.Since(began), 10*time.Second)
}

// If a client over HTTP goes away silently, its session ends after a time.
func TestIdleSession(t *testing.T) {
	t.Parallel()
	local, _ := newLocal(t)
	c := overHTTP(t, listen(t, newServer(t, local, nil), time.Second).URL, testToken)
	res, isError := c.call(t, "execute", args{"command": "sleep 1.5; echo waited", "timeout": "1m"})
	require.False(t, isError)
	require.Equal(t, "waited\n", res.Output, "a call that waits is not idle")
	_, isError = c.call(t, "execute", args{"command": "sleep 1000", "run_in_background": true})
	require.False(t, isError)
	require.Len(t, waitForEnd(t, local), 2)
}

// Sessions over HTTP do not see or reach each other's processes. The end of one
// session leaves the other alone.
func TestTwoSessions(t *testing.T) {
	t.Parallel()
	local, _ := newLocal(t)
	url := listen(t, newServer(t, local, nil), 0).URL
	a, b := overHTTP(t, url, testToken), overHTTP(t, url, testToken)
	ids := make(map[*client]string)
	for _, c := range []*client{a, b} {
		res, isError := c.call(t, "execute", args{"command": "echo $TOOLPROC_CHAT_ID; sleep 1000", "run_in_background": true})
		require.False(t, isError)
		ids[c] = res.ID
	}
	for c, other := range map[*client]*client{a: b, b: a} {
		res, _ := c.call(t, "process_list", nil)
		require.Len(t, res.Processes, 1)
		require.Equal(t, ids[c], res.Processes[0].ID)
		res, isError := c.call(t, "process_signal", args{"process_id": ids[other], "signal": "kill"})
		require.True(t, isError)
		require.Contains(t, res.Error, "there is no process")
		res, isError = c.call(t, "process_output", args{"process_id": ids[c], "wait_timeout": "0s"})
		require.False(t, isError)
		require.Equal(t, httpChat(c.ID())+"\n", res.Output)
		require.NotContains(t, res.Output, c.ID(), "a command does not learn the ID of its session")
	}
	a.leave(t)
	require.Eventually(t, func() bool {
		out, err := local.Output(t.Context(), ids[a], procmgr.OutputRequest{})
		return err == nil && out.Process.State == procmgr.Exited
	}, long, 5*time.Millisecond)
	res, _ := b.call(t, "process_output", args{"process_id": ids[b], "wait_timeout": "0s"})
	require.Equal(t, "running", res.State)
}

// A session without an ID gets no chat, so it shares none with another session.
func TestSessionWithoutID(t *testing.T) {
	t.Parallel()
	require.NotEqual(t, httpChat("a"), httpChat("b"))
	require.NotContains(t, httpChat(strings.Repeat("a", 26)), "aaaa")

	local, _ := newLocal(t)
	_, err := local.Chat(httpChat("")).Start(t.Context(), procmgr.StartRequest{Command: "true"})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	_, err = resolve(t.Context())
	require.Error(t, err)
}
