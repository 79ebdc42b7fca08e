package main

import (
	"bytes"
	"flag"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/examples/internal/exampletest"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prockeep"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// long is a wait that ends earlier, unless something is wrong.
const long = 30 * time.Second

// TestMain lets the test binary play the program, if a test starts it as such.
func TestMain(m *testing.M) {
	prockeep.Main() // with -keep, the test binary is the keeper, too
	if os.Getenv("AGENT_CHILD") != "" {
		main()
		os.Exit(0)
	}
	// The parallel tests here wait until fantasy asks again. They do not
	// compete for processors.
	if err := flag.Set("test.parallel", "64"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// The output of a call can be seen while the call runs.
func TestLive(t *testing.T) {
	for _, test := range []struct {
		name, command, live string
		tty                 bool
	}{
		{"terminal", "echo first; until [ -e go ]; do sleep 0.05; done; echo second", "  ~ first", true},
		{"terminal, unfinished line", "printf '\\none'; sleep 0.3; printf ' two'; until [ -e go ]; do sleep 0.05; done", "  ~ one two", true},
		{"terminal, line drawn again", "printf '10%%\\r'; sleep 0.3; printf '20%%\\r'; until [ -e go ]; do sleep 0.05; done", "  ~ 20%", true},
		{"elsewhere", "echo first; until [ -e go ]; do sleep 0.05; done; echo second", "  ~ first\n", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, func(results []string) reply {
				if len(results) > 0 {
					return reply{words: "Done."}
				}
				return reply{words: "I run it.", tool: "execute", arguments: map[string]any{"command": test.command, "timeout": long.String()}}
			})
			s.session.show.tty = test.tty
			s.out.on(test.live, func() { s.write(t, "go") })
			require.NoError(t, s.session.turn(t.Context(), "Run it."))
			out := s.out.String()
			require.Contains(t, out, test.live)
			require.Equal(t, test.tty, strings.Contains(out, "\r\x1b[K"), "drawn over on a terminal alone")
			require.Contains(t, out, "exit code 0")
		})
	}
}

// The output of a background process can be seen while the model waits for it:
// the new output, and nothing that the model has read before.
func TestLiveOutput(t *testing.T) {
	t.Parallel()
	s := newStage(t, func(results []string) reply {
		switch len(results) {
		case 0:
			return reply{words: "I start it.", tool: "execute", arguments: map[string]any{
				"command": "echo early; until [ -e go ]; do [ -e waiting ] && echo late; sleep 0.05; done", "run_in_background": true,
			}}
		case 1:
			_, id, _ := strings.Cut(results[0], " process ")
			return reply{words: "I wait.", tool: "process_output", arguments: map[string]any{"process_id": id[:10], "wait_timeout": long.String()}}
		}
		return reply{words: "Done."}
	})
	s.session.show.tty = true
	s.out.on("process_output process_id=", func() { s.write(t, "waiting") })
	s.out.on("  ~ late", func() { s.write(t, "go") })
	require.NoError(t, s.session.turn(t.Context(), "Run it."))
	_, waiting, _ := strings.Cut(s.out.String(), "process_output process_id=")
	require.Contains(t, waiting, "  ~ late")
	require.NotContains(t, waiting, "~ early")
	require.Contains(t, waiting, "exit code 0")
}

// The words of a model cannot control the terminal.
func TestPlain(t *testing.T) {
	t.Parallel()
	s := newStage(t, func([]string) reply { return reply{words: "red\x1b[31m\x1b]0;title\a\r\tand\nmore"} })
	require.NoError(t, s.session.turn(t.Context(), "Hello?"))
	require.Equal(t, "\nred[31m]0;title\tand\nmore\n", s.out.String())
}

func TestMaxSteps(t *testing.T) {
	t.Parallel()
	s := newStage(t, func([]string) reply {
		return reply{words: "Again.", tool: "process_list", arguments: map[string]any{}}
	})
	require.NoError(t, s.session.turn(t.Context(), "Go on."))
	require.Equal(t, maxSteps, s.server.asked())
	require.Contains(t, s.out.String(), "Paused after -max-steps")
}

// Ctrl-C stops the turn with its command, and the model reads about it with the next
// prompt. What runs in the background goes on until the agent ends.
func TestInterrupt(t *testing.T) {
	dir := exampletest.Scratch(t)
	cmd := command(t, dir, newServer(t, func(results []string) reply {
		switch len(results) {
		case 0:
			return reply{words: "A server.", tool: "execute", arguments: map[string]any{"command": "exec sleep 1000", "run_in_background": true}}
		case 1:
			return reply{words: "I wait.", tool: "execute", arguments: map[string]any{"command": "touch one; exec sleep 1000", "timeout": "10m"}}
		}
		return reply{words: "I am told: " + results[1]}
	}))
	cmd.Args = cmd.Args[:len(cmd.Args)-1] // prompts come from stdin
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, stopped, told := new(recorder), make(chan struct{}), make(chan struct{})
	out.on("(stopped\n", func() { close(stopped) })
	out.on("error: stopped by the user; the command was stopped", func() { close(told) })
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(t, cmd.Start())
	_, err = io.WriteString(in, "Go on.\n")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(dir, "one"))
		return err == nil
	}, long, 5*time.Millisecond)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	wait(t, stopped)
	_, err = io.WriteString(in, "What happened?\n")
	require.NoError(t, err)
	wait(t, told)
	require.NotContains(t, out.String(), "ends now")
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait(), out)
	require.Regexp(t, `ends now: process \w+, running: "exec sleep 1000"\n`, out.String())
	exampletest.RequireNothingRuns(t, dir)
}

// The agent ends if its reader is gone, as in "agent | head".
func TestNoReader(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	require.NoError(t, in.Close())
	show, gone := newScreen(out, false), false
	show.gone = func() { gone = true }
	show.text("Hello.")
	require.True(t, gone)
}

// Each line is a prompt. After a failed turn, an empty line goes on with that
// turn.
func TestPrompts(t *testing.T) {
	t.Chdir(exampletest.Scratch(t))
	t.Setenv("OPENAI_API_KEY", "sk-test")
	s := newServer(t, func(results []string) reply {
		if len(results) > 0 {
			return reply{words: "It is " + results[0]}
		}
		return reply{words: "I look.", tool: "execute", arguments: map[string]any{"command": `echo run >> ledger; echo "key=$OPENAI_API_KEY."`}}
	})
	s.fail = func(n int, w http.ResponseWriter, _ reply) bool {
		if n == 2 {
			http.Error(w, `{"error":{"message":"not today"}}`, http.StatusForbidden)
		}
		return n == 2
	}
	in, typed := io.Pipe()
	defer func() { _ = in.Close() }() // unblocks a pending write
	out := new(recorder)
	out.on("Enter goes on", func() {
		go func() { // the end of the pipe waits for it
			_, _ = io.WriteString(typed, "\n")
			_ = typed.Close() // always nil
		}()
	})
	go func() { _, _ = io.WriteString(typed, "What is the key?\n") }() // it is read at once
	args := []string{"-provider", "openai", "-model", "m", "-base-url", s.URL}
	require.NoError(t, run(args, in, newScreen(out, false)), out)
	require.Contains(t, out.String(), "not today")
	require.Contains(t, out.String(), "\n---\nkey=.\n")
	ledger, err := os.ReadFile("ledger")
	require.NoError(t, err)
	require.Equal(t, "run\n", string(ledger))
}

// With -input the model answers a program that asks for a password. The screen
// does not show it.
func TestInput(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no terminal")
	}
	s := newServer(t, func(results []string) reply {
		switch len(results) {
		case 0:
			return reply{words: "I start it.", tool: "execute", arguments: map[string]any{
				"command": "stty -echo; printf 'Password: '; read -r x; stty echo; echo; echo it has ${#x}", "stdin": "terminal", "run_in_background": true,
			}}
		case 1:
			_, id, _ := strings.Cut(results[0], " process ")
			return reply{words: "I answer.", tool: "process_input", arguments: map[string]any{
				"process_id": id[:10], "text": "hunter2", "keys": []string{"enter"}, "secret": true, "wait_for": "it has", "wait_timeout": long.String(),
			}}
		}
		return reply{words: "It says: " + results[1]}
	})
	s.provider = "openaicompat" // which has the same API
	out, err := command(t, exampletest.Scratch(t), s, "-input").CombinedOutput()
	require.NoError(t, err, "%s", out)
	_, says, _ := strings.Cut(string(out), "It says: ")
	require.Contains(t, says, "it has 7")
	require.NotContains(t, string(out), "hunter2")
	require.Contains(t, string(out), "text=(hidden)")
	require.Contains(t, string(s.request(1)), "process_input")
}

func TestUsage(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	for _, test := range []struct{ args, want string }{
		{"", "-model is missing"},
		{"-model m", "there is no key in OPENAI_API_KEY"},
		{"-model m -provider other -base-url http://127.0.0.1:1", `there is no provider "other"`},
	} {
		require.ErrorContains(t, run(strings.Fields(test.args), nil, newScreen(io.Discard, false)), test.want)
	}
	model, err := newModel(t.Context(), "anthropic", "http://127.0.0.1:1", "m")
	require.NoError(t, err)
	require.Equal(t, "anthropic", model.Provider())
	t.Setenv("OPENAI_API_KEY", "sk-test")
	require.ErrorContains(t, run(strings.Fields("-model m -provider openaicompat"), nil, newScreen(io.Discard, false)), "-base-url is missing")
}

const maxSteps = 5

// A stage is a session with its manager and its provider.
type stage struct {
	session *session
	manager procmgr.Manager
	server  *server
	dir     string
	out     *recorder
}

func newStage(t *testing.T, answer func(results []string) reply) stage {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the commands are a POSIX shell's")
	}
	s := stage{dir: t.TempDir(), out: new(recorder), server: newServer(t, answer)}
	manager, err := proclocal.New(&proclocal.Options{WorkDir: s.dir})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, manager.Close()) })
	s.manager = manager.Chat("test")
	model, err := newModel(t.Context(), "openai", s.server.URL, "m")
	require.NoError(t, err)
	s.session, err = newSession(model, s.manager, "", newScreen(s.out, false), &toolset.Options{}, 1000, maxSteps)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.session.set.Close()) })
	return s
}

func (s stage) read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(s.dir, name))
	require.NoError(t, err)
	return string(content)
}

// write makes a file that a command waits for.
func (s stage) write(t *testing.T, name string) {
	if err := os.WriteFile(filepath.Join(s.dir, name), nil, 0o600); err != nil {
		t.Error(err)
	}
}

// A recorder records the text that is written to it. When a text appears for
// the first time, it calls the function for that text. It is safe for
// concurrent use.
type recorder struct {
	mu    sync.Mutex // guards the fields below
	all   bytes.Buffer
	hooks map[string]func()
}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all.Write(p)
	for text, hook := range r.hooks {
		if bytes.Contains(r.all.Bytes(), []byte(text)) {
			delete(r.hooks, text)
			hook()
		}
	}
	return len(p), nil
}

func (r *recorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all.String()
}

func (r *recorder) on(text string, hook func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hooks == nil {
		r.hooks = make(map[string]func())
	}
	r.hooks[text] = hook
}

// command is this program in a directory, with the model of a provider.
func command(t *testing.T, dir string, s *server, flags ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], append(flags,
		"-provider", s.provider, "-base-url", s.URL, "-model", "m", "Go on.")...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "AGENT_CHILD=1")
	cmd.WaitDelay = long
	return cmd
}
