package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/examples/internal/exampletest"
)

// TestMain lets the test binary play quickstart itself.
func TestMain(m *testing.M) {
	if os.Getenv("QUICKSTART_CHILD") != "" {
		os.Exit(quickstart())
	}
	exampletest.Main(m)
}

func TestTranscript(t *testing.T) {
	tmp := exampletest.Scratch(t)
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, Greeter), "so far: %s", &out)
	exampletest.RequireNothingLeft(t, tmp)
	exampletest.RequireTranscript(t, out.String())
}

// However the program is stopped while the server runs, it leaves nothing behind. A
// signal is for the program alone, as a terminal's are.
func TestStopped(t *testing.T) {
	for name, stop := range map[string]func(*exec.Cmd, io.Closer) error{
		"SIGINT":    func(cmd *exec.Cmd, _ io.Closer) error { return cmd.Process.Signal(syscall.SIGINT) },
		"SIGTERM":   func(cmd *exec.Cmd, _ io.Closer) error { return cmd.Process.Signal(syscall.SIGTERM) },
		"SIGHUP":    func(cmd *exec.Cmd, _ io.Closer) error { return cmd.Process.Signal(syscall.SIGHUP) },
		"no reader": func(_ *exec.Cmd, out io.Closer) error { return out.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			tmp := exampletest.Scratch(t)
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), "QUICKSTART_CHILD=1")
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			for lines := bufio.NewScanner(out); lines.Scan(); {
				if strings.Contains(lines.Text(), "sh serve.sh") {
					break
				}
			}
			require.NoError(t, stop(cmd, out))
			_, _ = io.Copy(io.Discard, out) // it may be closed
			require.Error(t, cmd.Wait())
			require.Equal(t, 1, cmd.ProcessState.ExitCode(), "it ends by itself")
			exampletest.RequireNothingLeft(t, tmp)
		})
	}
}

// The run fails if a result is not the one that the script expects, if a process is
// left, and at the end of its context.
func TestUnexpected(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	for _, tt := range []struct {
		name   string
		ctx    context.Context
		script Script
		want   string
	}{
		{"a result", t.Context(), Script{{Calls: []Call{Execute("exit 1", "exit code 0")}}}, `should match "exit code 0"`},
		{"a process", t.Context(), Script{{Calls: []Call{Execute("exec sleep 1000 &", "")}}, {Says: "Done."}}, "is left in state running"},
		{"no script", t.Context(), nil, "the script is over"},
		{"the end", ended, Greeter, "stopped before the end"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tmp := exampletest.Scratch(t)
			var out bytes.Buffer
			require.ErrorContains(t, run(tt.ctx, &out, tt.script), tt.want)
			require.NotContains(t, out.String(), "none of them is running")
			exampletest.RequireNothingLeft(t, tmp)
		})
	}
}
