// Package examples_test runs the programs below against a scripted model.
package examples_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// command returns a program that asks the model at a URL.
func (a api) command(t *testing.T, url string) *exec.Cmd {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the commands are a POSIX shell's")
	}
	program := filepath.Join(t.TempDir(), a.program)
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./"+a.program).CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.CommandContext(t.Context(), program, "Does it build?")
	if a.program == "openai" {
		url += "/v1"
	}
	cmd.Env = append(os.Environ(), a.url+"="+url, a.key+"=key", "TMPDIR="+t.TempDir())
	return cmd
}

// The model gets what the tools answer, and the person its last words. An answer that was
// cut off may have half of a command, so nothing runs.
func TestConversation(t *testing.T) {
	for _, a := range apis {
		t.Run(a.program, func(t *testing.T) {
			cmd := a.command(t, a.serve(t, script, ""))
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			require.NoError(t, err, "%s", &stderr)
			require.Equal(t, words+"\n", string(out))

			file := filepath.Join(t.TempDir(), "ran")
			cmd = a.command(t, a.serve(t, []step{{tool: "execute", arguments: map[string]any{"command": "touch " + file}}}, a.cut))
			out, err = cmd.CombinedOutput()
			require.Error(t, err)
			require.Contains(t, string(out), a.cut)
			require.NoFileExists(t, file)
		})
	}
}

// A program that is interrupted ends its commands.
func TestInterrupt(t *testing.T) {
	for _, a := range apis {
		t.Run(a.program, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pid")
			cmd := a.command(t, a.serve(t, []step{{tool: "execute", arguments: map[string]any{"command": "echo $$ >" + file + "; exec sleep 1000"}}}, ""))
			require.NoError(t, cmd.Start())
			var pid string
			require.Eventually(t, func() bool {
				text, _ := os.ReadFile(file)
				pid = strings.TrimSpace(string(text))
				return pid != ""
			}, time.Minute, 5*time.Millisecond)
			require.NoError(t, cmd.Process.Signal(os.Interrupt))
			require.Error(t, cmd.Wait())
			require.Error(t, exec.CommandContext(t.Context(), "kill", "-0", pid).Run(), "the command lives on")
		})
	}
}
