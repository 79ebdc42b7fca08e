//go:build linux || darwin

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prockeep"
)

// The agent is killed while it waits for a command. The next run with the same
// chat has its server again, and the model can see it.
func TestKeep(t *testing.T) {
	dir := scratch(t)
	cache, err := os.MkdirTemp("/tmp", "a") //nolint:usetesting // the name of t.TempDir is too long for a socket in it
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(cache)) })
	t.Setenv("HOME", cache)
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Cleanup(func() { require.NoError(t, keeper(t).Stop(context.Background())) })

	cmd := kept(t, dir, newServer(t, openAI, func(results []string) reply {
		if len(results) == 0 {
			return reply{words: "Tests.", tool: "execute", arguments: map[string]any{
				"command": "until [ -e finish ]; do sleep 0.05; done; exit 3", "run_in_background": true,
			}}
		}
		return waits(results[1:])
	}))
	var first strings.Builder
	cmd.Stdout, cmd.Stderr = &first, &first
	require.NoError(t, cmd.Start())
	waitFor(t, filepath.Join(dir, "one"))
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "finish"), nil, 0o600))
	awaitEnd(t, "until [ -e finish ]")

	model := newServer(t, openAI, func(results []string) reply {
		if len(results) == 0 {
			return reply{words: "What runs?", tool: "process_list", arguments: map[string]any{}}
		}
		return reply{words: "I see: " + results[0]}
	})
	second, err := kept(t, dir, model).CombinedOutput()
	require.NoError(t, err, "%s", second)
	require.Regexp(t, `runs already: process \w+, running: exec sleep 1000\n`, string(second))
	require.Contains(t, string(second), "exited with code 3")
	require.Contains(t, string(model.request(1)), "exited with code 3", "the model is told")
	_, seen, _ := strings.Cut(string(second), "I see:")
	require.Contains(t, seen, "exec sleep 1000")
	require.Regexp(t, `goes on: process \w+, running: exec sleep 1000\n`, string(second))

	// What the model has been told is told once.
	third, err := kept(t, dir, newServer(t, openAI, func([]string) reply { return reply{words: "Hello."} })).CombinedOutput()
	require.NoError(t, err, "%s", third)
	require.NotContains(t, string(third), "exited with code 3")

	other := kept(t, dir, newServer(t, openAI, func([]string) reply { return reply{words: "Hello."} }))
	other.Args = append(other.Args[:1], append([]string{"-chat", "other"}, other.Args[1:]...)...)
	out, err := other.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NotContains(t, string(out), "runs already")
}

// kept is command with -keep.
func kept(t *testing.T, dir string, s *server) *exec.Cmd {
	t.Helper()
	cmd := command(t, dir, s)
	cmd.Args = append(cmd.Args[:1], append([]string{"-keep"}, cmd.Args[1:]...)...)
	return cmd
}

// keeper opens the keeper of the agents of a test. The context of a test has
// ended when the test cleans up.
func keeper(t *testing.T) *prockeep.Keeper {
	t.Helper()
	dir, err := keepDir()
	require.NoError(t, err)
	k, err := prockeep.Open(context.Background(), dir, nil)
	require.NoError(t, err)
	return k
}

// awaitEnd waits until a process has exited whose command begins with a text.
func awaitEnd(t *testing.T, command string) {
	t.Helper()
	k := keeper(t)
	require.Eventually(t, func() bool {
		all, err := k.List(t.Context())
		return err == nil && slices.ContainsFunc(all, func(p procmgr.Process) bool {
			return strings.HasPrefix(p.Command, command) && p.State == procmgr.Exited
		})
	}, long, 5*time.Millisecond)
	require.NoError(t, k.Close())
}
