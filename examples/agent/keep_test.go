//go:build linux || darwin

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/examples/internal/exampletest"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prockeep"
)

// The agent is killed while it waits for a command. The next run with the same
// chat has its server again, and the model can see it.
func TestKeep(t *testing.T) {
	dir := exampletest.Scratch(t)
	cache, err := os.MkdirTemp("/tmp", "a") //nolint:usetesting // the name of t.TempDir is too long for a socket in it
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(cache)) })
	t.Setenv("HOME", cache)
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Cleanup(func() { require.NoError(t, keeper(t).Stop(context.Background())) })

	thinks := make(chan struct{})
	write := func(name, script string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(script), 0o600))
	}
	write("server.sh", "exec sleep 1000")
	write("test.sh", "until [ -e finish ]; do sleep 0.05; done; echo '3 failing'; exit 3")
	background := func(command string) reply {
		return reply{words: "Go.", tool: "execute", arguments: map[string]any{"command": command, "run_in_background": true}}
	}
	cmd := kept(t, dir, newServer(t, func(results []string) reply {
		switch len(results) {
		case 0:
			return background("sh server.sh")
		case 1:
			return background("sh test.sh")
		}
		close(thinks)
		<-t.Context().Done()
		return reply{}
	}))
	var printed strings.Builder
	cmd.Stdout, cmd.Stderr = &printed, &printed
	require.NoError(t, cmd.Start())
	select {
	case <-thinks:
	case <-time.After(long):
		require.Fail(t, "the model was not asked", "%s", printed.String())
	}
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	write("finish", "")
	awaitEnd(t, "sh test.sh")

	model := newServer(t, func(results []string) reply {
		if len(results) == 0 {
			return reply{words: "What runs?", tool: "process_list", arguments: map[string]any{}}
		}
		return reply{words: "I see: " + results[0]}
	})
	second, err := kept(t, dir, model).CombinedOutput()
	require.NoError(t, err, "%s", second)
	told, _, _ := strings.Cut(string(second), "What runs?")
	told = regexp.MustCompile(`\b[a-z2-7]{10}\b( \(|,)`).ReplaceAllString(told, "npc5orns6a$1")
	told = regexp.MustCompile(`after \S+;`).ReplaceAllString(told, "after 2m;")
	exampletest.RequireGolden(t, "keep.txt", told) // README shows it
	require.Contains(t, string(second), "exited with code 3")
	first := string(model.request(1))
	require.Contains(t, first, "runs already", "the model is told before it does anything")
	require.Contains(t, first, "sh server.sh")
	require.Less(t, strings.Index(first, "runs already"), strings.Index(first, "exited with code 3"))
	require.Equal(t, 1, strings.Count(string(model.request(2)), "runs already"), "and it stays in the conversation")
	require.Contains(t, string(model.request(1)), "exited with code 3", "the model is told")
	_, seen, _ := strings.Cut(string(second), "I see:")
	require.Contains(t, seen, "sh server.sh")
	require.Regexp(t, `goes on: process \w+, running: "sh server.sh"\n`, string(second))

	// What the model has been told is told once.
	third, err := kept(t, dir, newServer(t, func([]string) reply { return reply{words: "Hello."} })).CombinedOutput()
	require.NoError(t, err, "%s", third)
	require.NotContains(t, string(third), "exited with code 3")

	other := kept(t, dir, newServer(t, func([]string) reply { return reply{words: "Hello."} }))
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
func keeper(t *testing.T) *prockeep.Host {
	t.Helper()
	dir, err := keepDir()
	require.NoError(t, err)
	k, err := prockeep.Find(context.Background(), dir)
	require.NoError(t, err)
	return k
}

// awaitEnd waits until a process has exited whose command begins with a text.
func awaitEnd(t *testing.T, command string) {
	t.Helper()
	k := keeper(t)
	require.Eventually(t, func() bool {
		page, err := k.List(t.Context(), procmgr.ListRequest{})
		all := page.Processes
		return err == nil && slices.ContainsFunc(all, func(p procmgr.Process) bool {
			return strings.HasPrefix(p.Command, command) && p.State == procmgr.Exited
		})
	}, long, 5*time.Millisecond)
	require.NoError(t, k.Close())
}
