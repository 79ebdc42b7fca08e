package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/examples/internal/dialogue"
	"github.com/toolproc/toolproc/examples/internal/exampletest"
	"github.com/toolproc/toolproc/examples/internal/story"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// TestMain lets the test binary play the program, if a test starts it as such.
func TestMain(m *testing.M) {
	if os.Getenv("CUSTOMLOOP_CHILD") != "" {
		main()
		os.Exit(0)
	}
	exampletest.Main(m)
}

func TestTranscript(t *testing.T) {
	tmp := exampletest.Scratch(t)
	var out bytes.Buffer
	require.NoError(t, customloop(nil, nil, &out), "so far: %s", &out)
	exampletest.RequireNothingLeft(t, tmp)
	exampletest.RequireTranscript(t, out.String())
}

// oneRun is a model that runs one command. Each run of it leaves a line.
var oneRun = story.Script{
	{Says: "I run it.", Calls: []story.Call{story.Execute("echo run >> ledger", `"exit_code":0`)}},
	{Says: "It has run."},
}

// However the requests fail, the command runs once, and the model gets its
// result once.
func TestRetry(t *testing.T) {
	for _, test := range []struct {
		name string
		fail http.HandlerFunc
		want string
	}{
		{
			name: "500",
			fail: func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, "ouch", http.StatusInternalServerError)
			},
			want: "500 Internal Server Error: ouch",
		},
		{
			name: "429",
			fail: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "1")
				http.Error(w, "slowly", http.StatusTooManyRequests)
			},
			want: "429 Too Many Requests: slowly",
		},
		{
			name: "the connection is dropped",
			fail: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			want: "EOF",
		},
		{
			name: "the connection is dropped within the answer",
			fail: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "1000")
				_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","tool_calls":[{"id":"call_0","type":"func`)
				_ = http.NewResponseController(w).Flush() // the ResponseWriter of net/http can flush
				panic(http.ErrAbortHandler)
			},
			want: "unexpected EOF",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			// Of two requests with the same conversation, the first one fails.
			model := &endpoint{script: oneRun}
			var asked atomic.Int32
			s := newStage(t, func(w http.ResponseWriter, r *http.Request) {
				if asked.Add(1)%2 == 1 {
					test.fail(w, r)
					return
				}
				model.ServeHTTP(w, r)
			})
			require.NoError(t, s.loop.run(t.Context(), "Run it."), s.out)
			require.EqualValues(t, 4, asked.Load())
			require.Equal(t, 2, strings.Count(strings.Join(strings.Fields(s.out.String()), " "), test.want), s.out)
			require.Equal(t, "run\n", s.read(t, "ledger"))
			require.Len(t, s.loop.messages, 4, "prompt, call, result, end")
		})
	}
}

// The loop reports an error at once if another try cannot help.
func TestNoRetry(t *testing.T) {
	for _, test := range []struct {
		name, body, want string
		status           int
	}{
		{"no key", `{"error":{"message":"no key"}}`, `401 Unauthorized: {"error":{"message":"no key"}}`, http.StatusUnauthorized},
		{"no completion", `<html>`, "is no chat completion", http.StatusOK},
		{"no choices", `{"error":"no such model"}`, "no such model", http.StatusOK},
		{"refused", `{"choices":[{"message":{"content":""},"finish_reason":"content_filter"}]}`, `finish_reason "content_filter"`, http.StatusOK},
	} {
		t.Run(test.name, func(t *testing.T) {
			var asked atomic.Int32
			s := newStage(t, func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			})
			require.ErrorContains(t, s.loop.run(t.Context(), "Run it."), test.want)
			require.EqualValues(t, 1, asked.Load())
		})
	}
}

// A loop that has lost the results of an answer carries it out again and runs
// nothing twice. The same command in another answer does run.
func TestReplay(t *testing.T) {
	s := newStage(t, nil)
	a := answer{finish: "tool_calls", calls: []call{newCall(t, "execute", map[string]any{"command": "echo run >> ledger; echo done"})}}
	first := s.loop.carryOut(t.Context(), 1, a)
	again := s.loop.carryOut(t.Context(), 1, a)
	require.Equal(t, "run\n", s.read(t, "ledger"))
	require.NotContains(t, first[0].Content, "nothing was run again")
	require.Contains(t, again[0].Content, "nothing was run again")
	require.Contains(t, again[0].Content, `"output":"done\n"`)

	s.loop.carryOut(t.Context(), 3, a)
	require.Equal(t, "run\nrun\n", s.read(t, "ledger"))
}

// If an answer was cut, its command may be half of a command.
func TestCutAnswer(t *testing.T) {
	s := newStage(t, nil)
	results := s.loop.carryOut(t.Context(), 1, answer{
		finish: "length",
		calls:  []call{newCall(t, "execute", map[string]any{"command": "echo run >> ledger"})},
	})
	require.Contains(t, results[0].Content, "your answer was cut off")
	require.NoFileExists(t, filepath.Join(s.dir, "ledger"))
}

// Arguments come as a string. Some servers send an object.
func TestArguments(t *testing.T) {
	s := newStage(t, nil)
	for _, arguments := range []string{`"{\"command\":\"echo good\"}"`, `{"command":"echo good"}`} {
		var c call
		c.Function.Name, c.Function.Arguments = "execute", json.RawMessage(arguments)
		results := s.loop.carryOut(t.Context(), len(s.loop.messages), answer{calls: []call{c}})
		require.Contains(t, results[0].Content, `"output":"good\n"`, arguments)
		require.Contains(t, s.out.String(), "$ echo good")
		s.loop.messages = append(s.loop.messages, nil)
	}
}

// A call that only reads runs beside a call after it. The results still have
// the order of the calls.
func TestParallel(t *testing.T) {
	s := newStage(t, nil)
	started := s.loop.carryOut(t.Context(), 1, answer{calls: []call{newCall(t, "execute", map[string]any{
		"command": "until [ -e one ]; do sleep 0.05; done; echo seen", "run_in_background": true,
	})}})
	require.Contains(t, started[0].Content, `"process_id":"m1-c0"`)
	results := s.loop.carryOut(t.Context(), 3, answer{calls: []call{
		newCall(t, "process_output", map[string]any{"process_id": "m1-c0", "wait_for": "seen", "wait_timeout": exampletest.Long.String()}),
		newCall(t, "execute", map[string]any{"command": "touch one"}),
	}})
	require.Contains(t, results[0].Content, "wait_for matched")
	require.Contains(t, results[1].Content, `"exit_code":0`)
}

func TestMaxTurns(t *testing.T) {
	same := story.Scene{Says: "Again.", Calls: []story.Call{story.Execute("true", "")}}
	s := newStage(t, (&endpoint{script: story.Script{same, same, same}}).ServeHTTP)
	s.loop.maxTurns = 2
	require.ErrorContains(t, s.loop.run(t.Context(), "Go on."), "not come to an end in 2 turns")
}

// Ctrl-C ends the loop, and with it the command that it waits for and the background
// processes.
func TestInterrupt(t *testing.T) {
	tmp := exampletest.Scratch(t)
	cmd, out := program(t, tmp, serve(t, went))
	exampletest.WaitFor(t, filepath.Join(tmp, "one"))
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.Error(t, cmd.Wait())
	require.Contains(t, out.String(), "stopped before the end")
	exampletest.RequireNothingRuns(t, tmp)
}

// A connection that breaks during a write raises SIGPIPE, and the loop retries. If the
// reader of its own output is gone, as in "customloop | head", the loop ends.
func TestBrokenPipe(t *testing.T) {
	t.Run("connection", func(t *testing.T) {
		tmp := exampletest.Scratch(t)
		cmd, out := program(t, tmp, serve(t, went))
		exampletest.WaitFor(t, filepath.Join(tmp, "one"))
		require.NoError(t, cmd.Process.Signal(syscall.SIGPIPE))
		require.NoError(t, os.WriteFile(filepath.Join(tmp, "go"), nil, 0o600))
		require.NoError(t, cmd.Wait(), out)
		require.Contains(t, out.String(), "It went.")
		exampletest.RequireNothingRuns(t, tmp)
	})
	t.Run("output", func(t *testing.T) {
		tmp := exampletest.Scratch(t)
		cmd := command(t, tmp, serve(t, went))
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		exampletest.WaitFor(t, filepath.Join(tmp, "one"))
		require.NoError(t, out.Close())
		require.NoError(t, os.WriteFile(filepath.Join(tmp, "go"), nil, 0o600))
		require.Error(t, cmd.Wait())
		require.Equal(t, 1, cmd.ProcessState.ExitCode(), "it ends by itself")
		exampletest.RequireNothingRuns(t, tmp)
	})
}

// went is a model whose command waits for a file.
var went = story.Script{
	{Says: "I start one and wait.", Calls: []story.Call{
		story.Execute("exec sleep 1000 &", ""),
		story.Execute("touch one; until [ -e go ]; do sleep 0.05; done", `"exit_code":0`),
	}},
	{Says: "It went."},
}

// serve serves a script until the test ends.
func serve(t *testing.T, script story.Script) (url string) {
	t.Helper()
	endpoint := httptest.NewServer(&endpoint{script: script})
	t.Cleanup(endpoint.Close)
	return endpoint.URL
}

// The endpoint gets the key, and commands do not.
func TestKey(t *testing.T) {
	t.Chdir(exampletest.Scratch(t))
	t.Setenv("OPENAI_API_KEY", "sk-test")
	model := &endpoint{script: story.Script{
		{Says: "What is it?", Calls: []story.Call{story.Execute(`echo "key=$OPENAI_API_KEY."`, "key=.")}},
		{Says: "Nothing."},
	}}
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sk-test" {
			http.Error(w, "no key", http.StatusUnauthorized)
			return
		}
		model.ServeHTTP(w, r)
	}))
	defer endpoint.Close()
	var out bytes.Buffer
	args := []string{"-base-url", endpoint.URL + "/v1/", "-model", "any"}
	require.NoError(t, customloop(args, strings.NewReader("Print the key.\n"), &out), &out)
	require.Contains(t, out.String(), "user    Print the key.\n")
}

func TestUsage(t *testing.T) {
	require.ErrorContains(t, customloop([]string{"a", "prompt"}, nil, io.Discard), "needs -base-url")
	require.ErrorContains(t, customloop([]string{"-base-url", "http://127.0.0.1:1"}, strings.NewReader(" \n"), io.Discard), "no prompt")
}

// A stage is a loop with its manager and its endpoint.
type stage struct {
	loop *loop
	dir  string
	out  *bytes.Buffer
}

func newStage(t *testing.T, endpoint http.HandlerFunc) stage {
	t.Helper()
	dir := exampletest.Scratch(t)
	manager, err := proclocal.New(&proclocal.Options{WorkDir: dir})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, manager.Close()) })
	server := httptest.NewServer(endpoint)
	t.Cleanup(server.Close)
	s := stage{dir: dir, out: new(bytes.Buffer)}
	s.loop, err = newLoop(manager.Chat("test"), &dialogue.Transcript{Out: s.out, Column: 8, Stable: true})
	require.NoError(t, err)
	s.loop.url, s.loop.model, s.loop.client, s.loop.firstPause = server.URL+"/v1", "script", server.Client(), time.Millisecond
	return s
}

func (s stage) read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(s.dir, name))
	require.NoError(t, err)
	return string(content)
}

func newCall(t *testing.T, tool string, arguments map[string]any) call {
	t.Helper()
	inner, err := json.Marshal(arguments)
	require.NoError(t, err)
	outer, err := json.Marshal(string(inner))
	require.NoError(t, err)
	c := call{ID: "call_0"}
	c.Function.Name, c.Function.Arguments = tool, outer
	return c
}

// program starts this program in a directory, with the model of an endpoint.
func program(t *testing.T, dir, endpoint string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := command(t, dir, endpoint)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Start())
	return cmd, &out
}

func command(t *testing.T, dir, endpoint string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-base-url", endpoint+"/v1", "-model", "any", "Go on.")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CUSTOMLOOP_CHILD=1")
	cmd.WaitDelay = exampletest.Long
	return cmd
}
