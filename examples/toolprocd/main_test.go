//go:build unix

package main_test

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

const long = 30 * time.Second

func build(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "toolprocd")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", name, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return name
}

// hello runs a command through a client.
func hello(t *testing.T, c *prochttp.Client) {
	t.Helper()
	out, err := c.Start(t.Context(), procmgr.StartRequest{Command: "echo hello", Wait: long})
	require.NoError(t, err)
	require.Equal(t, "hello\n", out.Text)
}

func TestToolprocd(t *testing.T) {
	name := build(t)
	t.Run("stdio", func(t *testing.T) {
		c, err := prochttp.NewClient("http://localhost", &prochttp.ClientOptions{Dial: prochttp.Command(name, "stdio")})
		require.NoError(t, err)
		hello(t, c)
		require.NoError(t, c.Close())
	})
	t.Run("a socket", func(t *testing.T) {
		socket := filepath.Join(t.TempDir(), "s")
		cmd := exec.CommandContext(t.Context(), name, "serve", "-unix", socket)
		stderr, err := cmd.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		line, err := bufio.NewReader(stderr).ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "listening on "+socket+"\n", line)
		c, err := prochttp.NewClient("unix://"+socket, nil)
		require.NoError(t, err)
		hello(t, c)
		require.NoError(t, c.Close())
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(t, cmd.Wait())
	})
	t.Run("what cannot be", func(t *testing.T) {
		open := filepath.Join(t.TempDir(), "token")
		require.NoError(t, os.WriteFile(open, []byte("secret\n"), 0o644))
		for want, args := range map[string][]string{
			"usage: toolprocd serve":     nil,
			"set one of -listen and":     {"serve"},
			"needs -token-file":          {"serve", "-listen", "127.0.0.1:0"},
			"others can read":            {"serve", "-listen", "127.0.0.1:0", "-token-file", open},
			`unexpected argument "now"`:  {"stdio", "now"},
			"flag provided but not defi": {"stdio", "-port"},
		} {
			var stderr bytes.Buffer
			cmd := exec.CommandContext(t.Context(), name, args...)
			cmd.Stderr = &stderr
			require.Error(t, cmd.Run())
			require.Contains(t, stderr.String(), want)
		}
	})
}
