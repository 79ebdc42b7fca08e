package main

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"charm.land/fantasy"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/envpolicy"
)

var update = flag.Bool("update", false, "write testdata/transcript.txt anew")

// TestMain lets the test binary play the program that the model works with, and
// quickstart itself.
func TestMain(m *testing.M) {
	if isHello() {
		os.Exit(hello(os.Args[1:]))
	}
	if os.Getenv("QUICKSTART_CHILD") != "" {
		os.Exit(quickstart())
	}
	_, secrets := envpolicy.Policy{}.Apply(os.Environ(), nil)
	for _, name := range secrets.Withheld {
		_ = os.Unsetenv(name) // or the first command that fails would be told of it
	}
	os.Exit(m.Run())
}

func TestTranscript(t *testing.T) {
	tmp := scratch(t)
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out), "so far: %s", &out)
	requireNothingLeft(t, tmp)

	for line := range strings.Lines(out.String()) {
		require.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), width, line)
	}
	golden := filepath.Join("testdata", "transcript.txt")
	got := steady(out.String())
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "go test -update writes %s anew", golden)
}

// Ctrl-C while the server runs leaves nothing behind.
func TestStopped(t *testing.T) {
	tmp := scratch(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out bytes.Buffer
	err := run(ctx, writerFunc(func(p []byte) (int, error) {
		if strings.Contains(string(p), "/report") {
			cancel()
		}
		return out.Write(p)
	}))
	require.ErrorIs(t, err, context.Canceled, &out)
	require.NotContains(t, out.String(), "none of them is running")
	requireNothingLeft(t, tmp)
}

// A signal that is for the program alone, as a terminal's are, ends what it has
// started all the same.
func TestSignals(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE} {
		t.Run(sig.String(), func(t *testing.T) {
			tmp := scratch(t)
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), "QUICKSTART_CHILD=1")
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			for lines := bufio.NewScanner(out); lines.Scan(); {
				if strings.Contains(lines.Text(), "./hello serve") {
					break
				}
			}
			require.NoError(t, cmd.Process.Signal(sig))
			_, err = io.Copy(io.Discard, out)
			require.NoError(t, err)
			require.Error(t, cmd.Wait())
			require.Equal(t, 1, cmd.ProcessState.ExitCode(), "it ends by itself")
			requireNothingLeft(t, tmp)
		})
	}
}

// The run fails if a result is not the one that the script expects.
func TestUnexpected(t *testing.T) {
	for _, test := range []struct {
		name, content, want string
	}{
		{"exit code", `{"success":false,"output":"no room","exit_code":1,"state":"exited"}`, "want exit code 0, got state \"exited\", exit code 1"},
		{"no exit code", `{"success":true,"state":"running","background_process_id":"a"}`, "want exit code 0, got state \"running\", exit code none"},
		{"no JSON", `oops`, "no JSON object"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := &model{scenes: script}
			_, err := m.Generate(t.Context(), fantasy.Call{Prompt: fantasy.Prompt{{
				Role: fantasy.MessageRoleTool,
				Content: []fantasy.MessagePart{fantasy.ToolResultPart{
					ToolCallID: "call_1",
					Output:     fantasy.ToolResultOutputContentText{Text: test.content},
				}},
			}}})
			require.ErrorContains(t, err, test.want)
		})
	}
}

// Generate and Stream give the same answers.
func TestModel(t *testing.T) {
	m := &model{scenes: script}
	call := fantasy.Call{Tools: []fantasy.Tool{fantasy.FunctionTool{Name: "execute"}}}
	whole, err := m.Generate(t.Context(), call)
	require.NoError(t, err)
	parts, err := m.Stream(t.Context(), call)
	require.NoError(t, err)
	text, input := "", ""
	for part := range parts {
		switch part.Type {
		case fantasy.StreamPartTypeTextDelta:
			text += part.Delta
		case fantasy.StreamPartTypeToolInputDelta:
			input += part.Delta
		case fantasy.StreamPartTypeFinish:
			require.Equal(t, whole.FinishReason, part.FinishReason)
		}
	}
	require.Equal(t, whole.Content.Text(), text)
	require.Equal(t, whole.Content.ToolCalls()[0].Input, input)
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// scratch gives the test a directory of its own for temporary files.
func scratch(t *testing.T) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the commands are a POSIX shell's")
	}
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	return tmp
}

// requireNothingLeft fails if a file is left in tmp, or a process that uses tmp
// for its temporary files. Only Linux shows the processes.
func requireNothingLeft(t *testing.T, tmp string) {
	t.Helper()
	left, err := os.ReadDir(tmp)
	require.NoError(t, err)
	require.Empty(t, left, "files are left")
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	for _, name := range environs {
		environ, _ := os.ReadFile(name) // the process may have ended
		require.NotContains(t, string(environ), "TMPDIR="+tmp+"\x00", "a process is left: %s", name)
	}
}

var (
	port      = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	processID = regexp.MustCompile(`(?:process_id=|\| )([a-z2-7]{10})\b`)
)

// steady replaces the parts of a transcript that differ from run to run.
func steady(transcript string) string {
	known := make(map[string]bool)
	for _, found := range processID.FindAllStringSubmatch(transcript, -1) {
		if id := found[1]; !known[id] {
			known[id] = true
			transcript = strings.ReplaceAll(transcript, id, fmt.Sprintf("<process %d>", len(known)))
		}
	}
	return port.ReplaceAllString(transcript, "127.0.0.1:<port>")
}
