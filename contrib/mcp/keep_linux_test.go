//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prockeep"
)

// keptSession starts the program with -keep. end ends the session by the end of stdin or by
// a signal.
func keptSession(t *testing.T, dir, keeper, by string) (c *client, end func()) {
	t.Helper()
	cmd := program(t, dir, "-keep", keeper, "-input")
	stdin, stdout, stderr := piped(t, cmd)
	c = connect(t, &mcp.IOTransport{Reader: stdout, Writer: unclosed{stdin}}, nil)
	return c, func() {
		switch by {
		case "SIGKILL":
			require.NoError(t, cmd.Process.Kill())
			require.Error(t, cmd.Wait())
			return
		case "SIGTERM":
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		default:
			require.NoError(t, stdin.Close())
		}
		require.NoError(t, cmd.Wait(), stderr) // it may warn of a call that was still waiting
	}
}

// newKeeper returns the directory of a keeper, which ends with the test.
func newKeeper(t *testing.T) string {
	t.Helper()
	parent, err := os.MkdirTemp("", "k") //nolint:usetesting // the name of t.TempDir is too long for a socket in it
	require.NoError(t, err)
	dir := filepath.Join(parent, "k")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), long) // the context of t has ended
		defer cancel()
		if k, err := prockeep.Find(ctx, dir); !errors.Is(err, procmgr.ErrNotFound) {
			require.NoError(t, err)
			require.NoError(t, k.Stop(ctx))
			require.NoError(t, k.Close())
		}
		require.NoError(t, os.RemoveAll(parent))
	})
	return dir
}

// Processes outlive their session, however that ends, and the next session has them with
// their results. A call that waits is not canceled: its command goes on.
func TestProcessesOutliveTheServer(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"stdin", "SIGTERM", "SIGKILL"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			dir, keeper := t.TempDir(), newKeeper(t)
			c, end := keptSession(t, dir, keeper, by)
			require.Contains(t, c.InitializeResult().Instructions, "All processes outlive the session")
			started, isError := c.call(t, "execute", args{
				"command": `pwd; read -r x; echo "got $x"; exit 3`, "stdin": "open", "run_in_background": true,
			})
			require.False(t, isError)
			go func() { // ends with the session
				_, _ = c.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute", Arguments: args{"command": "echo $$ > f && mv f called; exec sleep 1000", "timeout": "1h"}})
			}()
			called := pid(t, filepath.Join(dir, "called"))

			end()
			c, end = keptSession(t, dir, keeper, by)
			require.True(t, alive(called))
			list, _ := c.call(t, "process_list", nil)
			require.Len(t, list.Processes, 2)
			res, isError := c.call(t, "process_input", args{"process_id": started.ID, "text": "it\n", "end": true})
			require.False(t, isError)
			require.Equal(t, "got it\n", res.Output)
			require.Equal(t, 3, *res.ExitCode)

			end()
			c, end = keptSession(t, dir, keeper, by)
			res, isError = c.call(t, "process_output", args{"process_id": started.ID})
			require.False(t, isError)
			require.Equal(t, dir+"\ngot it\n", res.Output)
			require.Equal(t, 3, *res.ExitCode, "it ended in the session before")
			end()
		})
	}
}
