//go:build unix

package main

import (
	"context"
	"regexp"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// With -input the model has the fifth tool, with -format text it reads the header and the
// output, and -max-wait ends a wait but no command.
func TestInputAndText(t *testing.T) {
	c := connect(t, &mcp.CommandTransport{Command: program(t, t.TempDir(), "-input", "-format", "text", "-max-wait", "1s")}, nil)
	list, err := c.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, list.Tools, 5)
	call := func(name string, arguments any) string {
		t.Helper()
		answer, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
		require.NoError(t, err)
		require.False(t, answer.IsError)
		require.Contains(t, answer.StructuredContent, "success", "a program reads JSON all the same")
		return answer.Content[0].(*mcp.TextContent).Text
	}
	started := call("execute", args{"command": `read -r x; echo "got $x"`, "stdin": "open", "run_in_background": true})
	id := regexp.MustCompile(`· process (\w+)`).FindStringSubmatch(started)
	require.NotNil(t, id, started)
	require.Regexp(t, `(?s)^exit code 0 ·.*\n---\ngot it\n`, call("process_input", args{"process_id": id[1], "text": "it\n", "end": true}))
	require.NotContains(t, call("execute", args{"command": "sleep 3", "timeout": "1h"}), "exit code")
}

// With -ask a client that cannot ask its user gets no command that does more than
// read. One that can is asked while the call waits, in a version that allows it.
func TestAskFlag(t *testing.T) {
	yes := func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"allow": "once"}}, nil
	}
	for _, test := range []struct {
		command, want string
		opts          *mcp.ClientOptions
	}{
		{"ls", `"exit_code":0`, nil},
		{"touch x", `"denied":true`, nil},
		{"touch x", `"exit_code":0`, &mcp.ClientOptions{ElicitationHandler: yes}},
	} {
		c := connect(t, &mcp.CommandTransport{Command: program(t, t.TempDir(), "-ask")}, test.opts)
		answer, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute", Arguments: args{"command": test.command}})
		require.NoError(t, err)
		require.Contains(t, answer.Content[0].(*mcp.TextContent).Text, test.want)
	}
}
