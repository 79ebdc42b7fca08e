package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// With -ask the user of the client decides. A client that cannot ask gets what
// only reads, and nothing else.
func TestAsk(t *testing.T) {
	t.Parallel()
	answers := func(action, allow string) func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			res := &mcp.ElicitResult{Action: action}
			if allow != "" {
				res.Content = map[string]any{"allow": allow}
			}
			return res, nil
		}
	}
	for _, test := range []struct {
		name   string
		answer func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error)
		asked  int
		ran    bool
		want   string
	}{
		{"once", answers("accept", "once"), 2, true, `"exit_code":0`},
		{"always", answers("accept", "always"), 1, true, `"exit_code":0`},
		{"no", answers("accept", "no"), 2, false, "denied: the user said no"},
		{"declined", answers("decline", ""), 2, false, "denied: the user said no"},
		{"dismissed", answers("cancel", ""), 2, false, "denied: the user said no"},
		{"no elicitation", nil, 0, false, "does not support elicitation"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			local, dir := newLocal(t)
			s := newServer(t, local, approve)
			s.dir = dir
			asked := make(chan string, 8)
			opts := &mcp.ClientOptions{}
			if test.answer != nil {
				opts.ElicitationHandler = func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					if _, err := os.Stat(filepath.Join(dir, "made")); err == nil && len(asked) < 1 {
						t.Error("it has run before the answer")
					}
					asked <- req.Params.Message
					return test.answer(ctx, req)
				}
			}
			c := connect(t, dialHTTP(t, listen(t, s, 0).URL, testToken), opts)
			call := func(command string) string {
				t.Helper()
				res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute", Arguments: args{"command": command}})
				require.NoError(t, err)
				require.False(t, res.IsError)
				return res.Content[0].(*mcp.TextContent).Text
			}
			require.Contains(t, call("ls"), `"exit_code":0`)
			require.NotContains(t, call("git status"), "denied", "the server knows where commands run, and that git runs nothing there")
			for range 2 {
				require.Contains(t, call("touch made"), test.want)
			}
			require.Len(t, asked, test.asked)
			if test.asked > 0 {
				require.Contains(t, <-asked, `Run "touch" "made"`)
			}
			list, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Equal(t, test.ran, slices.ContainsFunc(list, func(e os.DirEntry) bool { return e.Name() == "made" }))
		})
	}
}
