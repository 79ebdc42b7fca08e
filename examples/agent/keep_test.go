//go:build linux || darwin

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
	t.Cleanup(func() { stopKeeper(t) })

	cmd := kept(t, dir, newServer(t, openAI, waits))
	var first strings.Builder
	cmd.Stdout, cmd.Stderr = &first, &first
	require.NoError(t, cmd.Start())
	waitFor(t, filepath.Join(dir, "one"))
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())

	second, err := kept(t, dir, newServer(t, openAI, func(results []string) reply {
		if len(results) == 0 {
			return reply{words: "What runs?", tool: "process_list", arguments: map[string]any{}}
		}
		return reply{words: "I see: " + results[0]}
	})).CombinedOutput()
	require.NoError(t, err, "%s", second)
	require.Regexp(t, `runs already: process \w+, running: exec sleep 1000\n`, string(second))
	_, seen, _ := strings.Cut(string(second), "I see:")
	require.Contains(t, seen, "exec sleep 1000")
	require.Regexp(t, `goes on: process \w+, running: exec sleep 1000\n`, string(second))

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

// stopKeeper ends the keeper of the agents of a test.
func stopKeeper(t *testing.T) {
	t.Helper()
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	ctx := context.Background() // that of the test has ended
	k, err := prockeep.Open(ctx, filepath.Join(cache, "toolproc-agent"), nil)
	require.NoError(t, err)
	require.NoError(t, k.Stop(ctx))
}
