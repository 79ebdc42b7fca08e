//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

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
	c = connectTasks(t, &mcp.IOTransport{Reader: stdout, Writer: unclosed{stdin}}, announced())
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
		require.NoError(t, cmd.Wait(), stderr)
		require.Empty(t, stderr.String())
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

// A task outlives its session, however that ends, and the next session has it.
func TestTaskOutlivesTheServer(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"stdin", "SIGTERM", "SIGKILL"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			dir, keeper := t.TempDir(), newKeeper(t)
			c, end := keptSession(t, dir, keeper, by)
			require.Contains(t, c.InitializeResult().Instructions, "All processes outlive the session")
			runs := c.start(t, untilGo("pwd; echo out; exit 3"))
			ends := c.start(t, args{"command": "until [ -e second ]; do sleep 0.01; done; echo second"})
			asks := c.start(t, args{"command": "until [ -e second ]; do sleep 0.01; done; read -r x; echo \"got $x\"", "stdin": "open"})
			canceled := c.start(t, args{"command": "exec sleep 1000"})
			// A call that was not cancelled: its command goes on.
			go func() { // ends with the session
				_, _ = c.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute", Arguments: args{"command": "echo $$ > f && mv f called; exec sleep 1000", "timeout": "900ms"}})
			}()
			called := pid(t, filepath.Join(dir, "called"))

			end()
			c, end = keptSession(t, dir, keeper, by)
			require.True(t, alive(called))
			require.NoError(t, syscall.Kill(called, syscall.SIGKILL))
			working := c.saying(t, runs.TaskID, "begun")
			require.Equal(t, "working", working.Status)
			require.WithinDuration(t, runs.CreatedAt, working.CreatedAt, time.Millisecond)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "second"), nil, 0o600))
			letGo(t, dir)
			ended := c.until(t, runs.TaskID, "completed")
			res, _ := read(t, ended.Result)
			require.Equal(t, "begun\n"+dir+"\nout\n", res.Output)
			require.Equal(t, 3, *res.ExitCode)
			require.Equal(t, ended, c.get(t, runs.TaskID))
			c.cancel(t, canceled.TaskID)
			require.Nil(t, c.until(t, canceled.TaskID, "cancelled").Result)
			question, _ := c.asked(t, asks.TaskID)
			// Not a task of this session, which never asks for it as one.
			res, _ = c.call(t, "process_output", args{"process_id": ends.TaskID, "wait_timeout": "30s"})
			require.Equal(t, 0, *res.ExitCode)

			end()
			c, end = keptSession(t, dir, keeper, by)
			before := c.get(t, ends.TaskID)
			require.Equal(t, "completed", before.Status, "it had ended before the session began: %+v", before)
			res, _ = read(t, before.Result)
			require.Equal(t, "second\n", res.Output)
			again, _ := c.asked(t, asks.TaskID)
			require.Equal(t, question, again)
			require.NoError(t, c.update(t, asks.TaskID, again, given("it")))
			res, _ = read(t, c.until(t, asks.TaskID, "completed").Result)
			require.Equal(t, "got it\n", res.Output)
			_, err := mcp.CallCustomMethod[*taskParams, *taskResult](t.Context(), c.ClientSession, "tasks/get", &taskParams{TaskID: "none"})
			require.ErrorContains(t, err, "no such task")
			end()
		})
	}
}
