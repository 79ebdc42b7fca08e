//go:build unix

package readme_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
)

// long is a wait that a test reaches only if something is wrong.
const long = time.Minute

// An output can be read while it is written.
type output struct {
	mu  sync.Mutex // guards all
	all bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all.String()
}

func (o *output) await(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(o.String(), text) }, long, 5*time.Millisecond, "%q is missing", text)
}

// build builds the program of a page, with the modules of a directory.
func build(t *testing.T, page, modules string, files ...string) (name string) {
	t.Helper()
	_, rest, found := strings.Cut(read(t, page), "```go\npackage main\n")
	require.True(t, found)
	source, _, _ := strings.Cut(rest, "```")
	source = strings.Replace(source, `return Message{}, errors.New("ask your provider here")`,
		`return script(ctx, messages, tools, errors.New("the script is over"))`, 1)
	dir := t.TempDir()
	main := filepath.Join(dir, "main.go")
	require.NoError(t, os.WriteFile(main, []byte("//line "+page+":1\npackage main\n"+source), 0o600))
	for _, content := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "script.go"), []byte(content), 0o600))
		main += " " + filepath.Join(dir, "script.go")
	}
	shell(t, modules, "go build -o "+dir+"/program "+main)
	return filepath.Join(dir, "program")
}

// A program is a running program, whose stdin is a pipe.
type program struct {
	*exec.Cmd
	stdin io.WriteCloser
	out   output // stdout and stderr
}

// start runs a command of a shell in a directory.
func start(t *testing.T, dir, command string, env ...string) *program {
	t.Helper()
	p := &program{Cmd: exec.CommandContext(t.Context(), "sh", "-c", "exec "+command)}
	p.Dir, p.WaitDelay = dir, long
	p.Env = append(os.Environ(), env...)
	p.Stdout, p.Stderr = &p.out, &p.out
	stdin, err := p.StdinPipe()
	require.NoError(t, err)
	p.stdin = stdin
	require.NoError(t, p.Start())
	return p
}

// stop sends a signal, with which the program ends as it should.
func (p *program) stop(t *testing.T, sig syscall.Signal) {
	t.Helper()
	require.NoError(t, p.Process.Signal(sig))
	p.end(t, 0)
}

// end waits for the program's end and its exit code. A signal must not end it, since its
// deferred calls would be skipped.
func (p *program) end(t *testing.T, code int) {
	t.Helper()
	_ = p.Wait() // the state tells more
	require.Equal(t, code, p.ProcessState.ExitCode(), "%v: %s", p.ProcessState, &p.out)
}

// reporting is a command that writes its process ID to a file of the program's directory.
func reporting(name string) string {
	return "echo $$ > " + name + ".part; mv " + name + ".part " + name + "; exec sleep 1000"
}

// pid waits for the process ID of such a command.
func (p *program) pid(t *testing.T, name string) (pid int) {
	t.Helper()
	require.Eventually(t, func() bool {
		content, _ := os.ReadFile(filepath.Join(p.Dir, name))
		pid, _ = strconv.Atoi(strings.TrimSpace(string(content)))
		return pid != 0
	}, long, 5*time.Millisecond, &p.out)
	require.NoError(t, syscall.Kill(pid, 0), "it runs")
	return pid
}

// requireGone fails if a process is there.
func requireGone(t *testing.T, pid int) {
	t.Helper()
	require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH, "the command lives on, without its program")
}

// interrupt sends a signal to a program whose command runs. Only that process gets the
// signal, and not the command, which must end nevertheless.
func (p *program) interrupt(t *testing.T, sig syscall.Signal, pid int) {
	t.Helper()
	require.NoError(t, p.Process.Signal(sig))
	p.end(t, 1)
	require.Contains(t, p.out.String(), "context canceled")
	requireGone(t, pid)
}

// TestHeldAgent runs README's agent with a scripted endpoint as its model, whose calls have
// the prompts as their arguments.
func TestHeldAgent(t *testing.T) {
	testenv.Held(t)
	name := build(t, "README.md", "examples/agent")
	begin := func() *program {
		return start(t, t.TempDir(), name, "OPENAI_API_KEY=the-key", "OPENAI_BASE_URL="+endpoint(t))
	}
	ask := func(p *program, arguments map[string]any) {
		_, err := p.stdin.Write([]byte(encode(arguments) + "\n"))
		require.NoError(t, err)
	}
	// A turn is stopped, and the next one goes on.
	p := begin()
	ask(p, map[string]any{"command": reporting("server"), "run_in_background": true})
	server := p.pid(t, "server")
	p.out.await(t, "The tool says: ")
	ask(p, map[string]any{"command": "echo begun; " + reporting("command"), "timeout": "10m"})
	command := p.pid(t, "command")
	p.out.await(t, "begun\n")
	require.NoError(t, p.Process.Signal(os.Interrupt))
	p.out.await(t, "\nstopped\n")
	requireGone(t, command)
	require.NoError(t, syscall.Kill(server, 0), "the server of an earlier turn lives on")
	ask(p, map[string]any{"command": "echo a third turn"})
	p.out.await(t, `"output":"a third turn\n"`)
	require.NoError(t, p.stdin.Close())
	p.end(t, 0)
	requireGone(t, server)

	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		p = begin()
		ask(p, map[string]any{"command": reporting("command"), "timeout": "10m"})
		p.interrupt(t, sig, p.pid(t, "command"))
	}
}

// endpoint streams chat completions as OpenAI does. Its model calls execute with the
// arguments that the user has sent, and then repeats what the tool says.
func endpoint(t *testing.T) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			Messages []struct {
				Role    string
				Content any
			}
			Tools []struct{ Function struct{ Name string } }
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || r.URL.Path != "/chat/completions" ||
			r.Header.Get("Authorization") != "Bearer the-key" || len(req.Messages) == 0 || len(req.Tools) != 4 {
			http.Error(w, fmt.Sprintf("unexpected request %s: %v", r.URL, err), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		event := func(delta map[string]any, finish any) {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", encode(map[string]any{
				"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "script",
				"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
			}))
		}
		last := req.Messages[len(req.Messages)-1]
		arguments := fmt.Sprint(last.Content)
		if last.Role == "tool" {
			event(map[string]any{"role": "assistant", "content": "The tool says: " + arguments}, nil)
			event(map[string]any{}, "stop")
			return
		}
		event(map[string]any{"role": "assistant", "content": "I run it.", "tool_calls": []any{map[string]any{
			"index": 0, "id": "call_0", "type": "function",
			"function": map[string]any{"name": req.Tools[0].Function.Name, "arguments": arguments},
		}}}, nil)
		event(map[string]any{}, "tool_calls")
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // of maps and strings
	}
	return string(text)
}

// scriptedAsk is the provider of the loop. Its model acts like the one of endpoint.
const scriptedAsk = `package main

import (
	"context"
	"encoding/json"
	"os"

	"github.com/toolproc/toolproc/chattool/toolset"
)

func script(ctx context.Context, messages []Message, tools []Tool, over error) (Message, error) {
	if err := ctx.Err(); err != nil {
		return Message{}, err
	}
	switch last := messages[len(messages)-1]; {
	case last.Role == "tool" && last.CallID == "call_0" && !last.IsError:
		return Message{Role: "assistant", Content: "The tool says: " + last.Content}, nil
	case last.Role == "user" && len(tools) == 4 && json.Valid(tools[0].Schema):
		arguments, err := json.Marshal(map[string]string{"command": os.Getenv("COMMAND"), "timeout": "10m"})
		return Message{Role: "assistant", Calls: []toolset.Call{{ID: "call_0", Name: tools[0].Name, Arguments: arguments}}}, err
	}
	return Message{}, over
}
`

// TestHeldLoop runs the loop of docs/frameworks.md with a scripted provider.
func TestHeldLoop(t *testing.T) {
	testenv.Held(t)
	name := build(t, "docs/frameworks.md", ".", scriptedAsk)
	p := start(t, t.TempDir(), name, "COMMAND=echo it runs")
	p.end(t, 0)
	require.Regexp(t, `\nThe tool says: .*"output":"it runs\\n".*\n$`, p.out.String())
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		p := start(t, t.TempDir(), name, "COMMAND="+reporting("command"))
		p.interrupt(t, sig, p.pid(t, "command"))
	}
}
