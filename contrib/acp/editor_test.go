package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
)

// long is a wait that ends earlier, unless something is wrong.
const long = 30 * time.Second

// model serves a model that makes the calls in a prompt, one on each line, such as
// "execute {…}". Then it says what the result of the last one was.
func model(t *testing.T) endpoint {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			Messages []message
			Tools    []tool
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || len(req.Tools) != 4 || r.URL.Path != "/v1/chat/completions" {
			http.Error(w, fmt.Sprintf("%s: %v, %d tools", r.URL.Path, err, len(req.Tools)), http.StatusBadRequest)
			return
		}
		last := req.Messages[len(req.Messages)-1]
		said, finish := map[string]any{"role": "assistant", "content": last.Content}, "stop"
		if last.Role == "user" {
			var calls []any
			for i, line := range strings.Split(last.Content, "\n") {
				if cut, ok := strings.CutPrefix(line, "finish "); ok {
					finish = cut
					continue
				}
				name, arguments, _ := strings.Cut(line, " ")
				calls = append(calls, map[string]any{"id": fmt.Sprint("call_", i), "type": "function", "function": map[string]any{"name": name, "arguments": arguments}})
			}
			said["content"], said["tool_calls"] = "I begin.", calls
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": said, "finish_reason": finish}}})
	}))
	t.Cleanup(server.Close)
	return endpoint{url: server.URL + "/v1", key: "key", name: "m"}
}

// execute is a prompt for the model.
func execute(command string) string {
	arguments, err := json.Marshal(map[string]any{"command": command, "timeout": "60s"})
	if err != nil {
		panic(err) // of texts
	}
	return "execute " + string(arguments)
}

// An editor is the client of the protocol.
type editor struct {
	acp.Client // nil: the agent calls none of its other methods
	t          *testing.T
	conn       *acp.ClientSideConnection
	agent      *agent // nil if it is another program
	// permit answers a question.
	permit func(ctx context.Context, p acp.RequestPermissionRequest) acp.RequestPermissionOutcome

	mu      sync.Mutex // guards updates
	updates map[acp.SessionId][]acp.SessionUpdate
	bytes   int // of all updates
}

func (e *editor) SessionUpdate(_ context.Context, n acp.SessionNotification) error {
	data, err := json.Marshal(n)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.bytes += len(data)
	e.updates[n.SessionId] = append(e.updates[n.SessionId], n.Update)
	return err
}

func (e *editor) RequestPermission(ctx context.Context, p acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	if e.permit == nil {
		e.t.Errorf("it asks for %+v", p)
		return acp.RequestPermissionResponse{}, errors.New("nobody is asked here")
	}
	return acp.RequestPermissionResponse{Outcome: e.permit(ctx, p)}, nil
}

// connect returns an editor and the agent in this program that serves it. At the end of
// the test nothing runs.
func connect(t *testing.T) *editor {
	t.Helper()
	tmp := scratch(t)
	toAgent, fromEditor := io.Pipe()
	toEditor, fromAgent := io.Pipe()
	e := newEditor(t, fromEditor, toEditor)
	e.agent = newAgent(model(t), slog.New(slog.DiscardHandler))
	served := make(chan error, 1)
	go func() { served <- serve(context.Background(), e.agent, toAgent, fromAgent) }() // received below
	t.Cleanup(func() {
		require.NoError(t, fromEditor.Close())
		require.NoError(t, <-served)
		require.NoError(t, fromAgent.Close())
		requireNothingRuns(t, tmp)
	})
	e.initialize()
	return e
}

func newEditor(t *testing.T, in io.Writer, out io.Reader) *editor {
	t.Helper()
	e := &editor{t: t, updates: make(map[acp.SessionId][]acp.SessionUpdate)}
	e.conn = acp.NewClientSideConnection(e, in, out)
	e.conn.SetLogger(slog.New(slog.DiscardHandler))
	return e
}

func (e *editor) initialize() {
	e.t.Helper()
	res, err := e.conn.Initialize(e.t.Context(), acp.InitializeRequest{
		ProtocolVersion:    acp.ProtocolVersionNumber,
		ClientCapabilities: acp.ClientCapabilities{Terminal: true},
	})
	require.NoError(e.t, err)
	require.Equal(e.t, "toolproc", res.AgentInfo.Name)
	require.EqualValues(e.t, acp.ProtocolVersionNumber, res.ProtocolVersion)
	require.NotNil(e.t, res.AgentCapabilities.SessionCapabilities.Close)
}

// open begins a session in a directory of its own.
func (e *editor) open() (id acp.SessionId, dir string) {
	e.t.Helper()
	dir = e.t.TempDir()
	res, err := e.conn.NewSession(e.t.Context(), acp.NewSessionRequest{Cwd: dir, McpServers: []acp.McpServer{}})
	require.NoError(e.t, err)
	return res.SessionId, dir
}

// prompt sends a prompt and waits for the end of its turn.
func (e *editor) prompt(id acp.SessionId, lines ...string) acp.StopReason {
	e.t.Helper()
	turn := <-e.begin(id, lines...)
	require.NoError(e.t, turn.err)
	return turn.reason
}

type turn struct {
	reason acp.StopReason
	err    error
}

// begin sends a prompt. The channel gets the end of its turn.
func (e *editor) begin(id acp.SessionId, lines ...string) <-chan turn {
	ends := make(chan turn, 1)
	ctx, cancel := context.WithTimeout(e.t.Context(), long)
	go func() { // the caller receives what it sends
		defer cancel()
		res, err := e.conn.Prompt(ctx, acp.PromptRequest{SessionId: id, Prompt: []acp.ContentBlock{acp.TextBlock(strings.Join(lines, "\n"))}})
		ends <- turn{res.StopReason, err}
	}()
	return ends
}

// seen returns what a session has shown: the beginnings of calls, the updates of calls
// and the words.
func (e *editor) seen(id acp.SessionId) (calls []acp.SessionUpdateToolCall, updates []acp.SessionToolCallUpdate, words string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, u := range e.updates[id] {
		switch {
		case u.ToolCall != nil:
			calls = append(calls, *u.ToolCall)
		case u.ToolCallUpdate != nil:
			updates = append(updates, *u.ToolCallUpdate)
		case u.AgentMessageChunk != nil:
			words += u.AgentMessageChunk.Content.Text.Text
		}
	}
	return calls, updates, words
}

// last returns the last update of a call, and its facts.
func (e *editor) last(id acp.SessionId) (acp.SessionToolCallUpdate, map[string]any) {
	e.t.Helper()
	_, updates, _ := e.seen(id)
	require.NotEmpty(e.t, updates)
	last := updates[len(updates)-1]
	facts, ok := last.RawOutput.(map[string]any)
	require.True(e.t, ok, "%v", last.RawOutput)
	return last, facts
}

// processes returns the processes of a session that have not exited.
func (e *editor) processes(id acp.SessionId) (live []procmgr.Process) {
	e.t.Helper()
	s, err := e.agent.session(id)
	require.NoError(e.t, err)
	page, err := s.manager.List(e.t.Context(), procmgr.ListRequest{})
	require.NoError(e.t, err)
	for _, p := range page.Processes {
		if p.State != procmgr.Exited {
			live = append(live, p)
		}
	}
	return live
}

func always(option acp.PermissionOptionId) func(context.Context, acp.RequestPermissionRequest) acp.RequestPermissionOutcome {
	return func(context.Context, acp.RequestPermissionRequest) acp.RequestPermissionOutcome {
		return acp.NewRequestPermissionOutcomeSelected(option)
	}
}

// shown is the text of an update.
func shown(t *testing.T, u acp.SessionToolCallUpdate) string {
	t.Helper()
	text := ""
	for _, c := range u.Content {
		if c.Content != nil {
			text += c.Content.Content.Text.Text
		}
	}
	return text
}

// scratch gives the test a directory of its own for temporary files. It skips a test
// for whose commands there is no shell.
func scratch(t *testing.T) (tmp string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the commands are a POSIX shell's")
	}
	tmp = t.TempDir()
	t.Setenv("TMPDIR", tmp)
	return tmp
}

// requireNothingRuns fails if a process uses tmp for its temporary files. Only Linux
// shows the processes.
func requireNothingRuns(t *testing.T, tmp string) {
	t.Helper()
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	for _, name := range environs {
		environ, _ := os.ReadFile(name) // the process may have ended
		require.NotContains(t, string(environ), "TMPDIR="+tmp+"\x00", "a process is left: %s", name)
	}
}

// waitForFile waits until a file is there.
func waitForFile(t *testing.T, name string) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := os.Stat(name)
		return err == nil
	}, long, 5*time.Millisecond, name)
}
