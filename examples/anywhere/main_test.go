//go:build unix

package main_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The agent does the same here and behind a command.
func TestAnywhere(t *testing.T) {
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", dir+"/", ".", "../toolprocd")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	agent := func(args ...string) (string, string, error) {
		var stdout, stderr bytes.Buffer
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "anywhere"), args...)
		cmd.Stdin = strings.NewReader(`{"name":"execute","arguments":{"command":"echo $PPID; echo hello"}}` + "\n" +
			`{"name":"execute","arguments":{"command":"sleep 1000","run_in_background":true}}` + "\n")
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		return stdout.String(), stderr.String(), err
	}
	far := filepath.Join(dir, "toolprocd") + " stdio"
	for name, args := range map[string][]string{"here": nil, "elsewhere": {"-via", "env", "-far", far}} {
		stdout, stderr, err := agent(args...)
		require.NoError(t, err, "%s: %s", name, stderr)
		require.Empty(t, stderr, name)
		require.Equal(t, 2, strings.Count(stdout, "\n"), stdout)
		require.Contains(t, stdout, `hello`, name)
		require.Contains(t, stdout, "background", name)
	}
	stdout, _, err := agent("-via", "no-such-program")
	require.NoError(t, err)
	require.Contains(t, stdout, "executable file not found")
}
