//go:build unix

package main_test

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The agent does the same here and behind a command. There, its processes outlive
// it.
func TestAnywhere(t *testing.T) {
	dir, err := os.MkdirTemp("", "a") //nolint:usetesting // the name of t.TempDir is too long for a socket in it
	require.NoError(t, err)
	defer func() { require.NoError(t, os.RemoveAll(dir)) }()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", dir+"/", ".", "../keys", "../../cmd/toolprocd")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	agent := func(calls string, args ...string) string {
		t.Helper()
		var stdout, stderr bytes.Buffer
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "anywhere"), args...)
		cmd.Stdin = strings.NewReader(calls)
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		require.NoError(t, cmd.Run(), "%s", &stderr)
		require.Empty(t, stderr.String())
		return stdout.String()
	}
	const (
		starts = `{"name":"execute","arguments":{"command":"echo $PPID; echo hello"}}` + "\n" +
			`{"name":"execute","arguments":{"command":"sleep 1000","run_in_background":true}}` + "\n"
		lists = `{"name":"process_list","arguments":{}}` + "\n"
	)
	toolprocd := filepath.Join(dir, "toolprocd")
	far := toolprocd + " stdio -idle 2m -dir " + dir + "/k"
	defer func() {
		out, err := exec.Command(toolprocd, "stop", "-f", "-dir", dir+"/k").CombinedOutput()
		require.NoError(t, err, "%s", out)
	}()
	keys := filepath.Join(dir, "made")
	out, err = exec.CommandContext(t.Context(), filepath.Join(dir, "keys"), "-dir", keys, "-hosts", "127.0.0.1").CombinedOutput()
	require.NoError(t, err, "%s", out)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := free.Addr().String()
	require.NoError(t, free.Close())
	server := exec.Command(toolprocd, "serve", "-listen", address, "-token-file", keys+"/token", "-tls-cert", keys+"/cert.pem", "-tls-key", keys+"/key.pem")
	server.Dir = dir
	require.NoError(t, server.Start())
	defer func() {
		require.NoError(t, server.Process.Signal(syscall.SIGTERM))
		require.NoError(t, server.Wait())
	}()
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, time.Minute, 5*time.Millisecond)
	served := []string{"-url", "https://" + address, "-keys", keys}
	for name, tt := range map[string]struct {
		args []string
		left int
	}{
		"here":      {nil, 0},
		"elsewhere": {[]string{"-via", "env", "-far", far}, 1},
		"at a URL":  {served, 1},
	} {
		stdout := agent(starts, tt.args...)
		require.Equal(t, 2, strings.Count(stdout, "\n"), stdout)
		require.Contains(t, stdout, `hello`, name)
		require.Contains(t, stdout, "background", name)
		require.Equal(t, tt.left, strings.Count(agent(lists, tt.args...), "sleep 1000"), name)
	}
	stdout := agent("no JSON\n\n" + `{"name":"execute","arguments":{"command":"echo goes on"}}`)
	require.Equal(t, 2, strings.Count(stdout, "\n"), stdout)
	require.Contains(t, stdout, "the call is no JSON, and nothing was done")
	require.Contains(t, stdout, `goes on\n`)
	require.NotContains(t, agent(lists, "-via", "env", "-far", far, "-chat", "another"), "sleep 1000")
	require.Contains(t, agent(lists, "-via", "no-such-program"), "executable file not found")

	// A signal stops its call, with the command.
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "anywhere"), served...)
	cmd.Stdin = strings.NewReader(`{"name":"execute","arguments":{"command":"touch one; exec sleep 1000","timeout":"10m"}}` + "\n")
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(dir, "one")); return err == nil }, time.Minute, 5*time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.Error(t, cmd.Wait())
	require.Regexp(t, `"state":"exited","command":"touch one`, agent(lists, served...))
}
