package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/envpolicy"
	"github.com/toolproc/toolproc/procmgr"
)

// TestMain runs the tests, or plays the program.
func TestMain(m *testing.M) {
	if os.Getenv("ACP_TEST_PROGRAM") != "" {
		main()
		return
	}
	// The first command that fails would be told of what a manager withholds.
	_, secrets := envpolicy.Policy{}.Apply(os.Environ())
	for _, name := range secrets {
		_ = os.Unsetenv(name)
	}
	os.Exit(m.Run())
}

// growing prints a line each time that a file of its name is there.
const growing = `for i in 1 2 3; do echo "line $i"; until [ -e "$i" ]; do sleep 0.02; done; done; exit 3`

// The output of a command is shown while the command runs: it goes on only once each
// line has been seen.
func TestLiveOutput(t *testing.T) {
	e := connect(t)
	e.permit = always("once")
	id, dir := e.open()
	ends := e.begin(id, execute(growing))
	for i := 1; i <= 3; i++ {
		require.Eventually(t, func() bool {
			_, updates, _ := e.seen(id)
			return len(updates) > 0 && strings.Contains(shown(t, updates[len(updates)-1]), fmt.Sprint("line ", i))
		}, long, 5*time.Millisecond)
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600))
	}
	end := <-ends
	require.NoError(t, end.err)
	require.Equal(t, acp.StopReasonEndTurn, end.reason)

	calls, updates, words := e.seen(id)
	require.Len(t, calls, 1)
	require.Equal(t, growing, calls[0].Title)
	require.Equal(t, acp.ToolKindExecute, calls[0].Kind)
	require.Equal(t, acp.ToolCallStatusInProgress, calls[0].Status)
	require.Equal(t, growing, calls[0].RawInput.(map[string]any)["command"])
	before, running := "", 0
	for _, u := range updates[:len(updates)-1] {
		require.Equal(t, calls[0].ToolCallId, u.ToolCallId)
		text := strings.TrimSuffix(shown(t, u), "\n```")
		if running == 0 && text == "(no output)" {
			continue
		}
		require.True(t, strings.HasPrefix(text, before), "%q, and then %q", before, text)
		before = text
		running++
	}
	require.GreaterOrEqual(t, running, 2)
	last, facts := e.last(id)
	require.Equal(t, "```console\nline 1\nline 2\nline 3\n```", shown(t, last))
	require.Equal(t, acp.ToolCallStatusFailed, *last.Status)
	require.EqualValues(t, 3, facts["exit_code"])
	require.Equal(t, "exited", facts["state"])
	require.True(t, strings.HasPrefix(words, "I begin."), words)
	require.Contains(t, words, `"exit_code":3`, "what the model has read")
}

func TestPermission(t *testing.T) {
	e := connect(t)
	id, dir := e.open()
	made := filepath.Join(dir, "made")
	var asked []acp.RequestPermissionRequest // one at a time
	answer := func(option acp.PermissionOptionId) func(context.Context, acp.RequestPermissionRequest) acp.RequestPermissionOutcome {
		return func(ctx context.Context, p acp.RequestPermissionRequest) acp.RequestPermissionOutcome {
			asked = append(asked, p)
			return always(option)(ctx, p)
		}
	}

	e.permit = answer("no")
	require.Equal(t, acp.StopReasonEndTurn, e.prompt(id, execute("touch made")))
	require.Len(t, asked, 1)
	calls, _, words := e.seen(id)
	require.Equal(t, calls[0].ToolCallId, asked[0].ToolCall.ToolCallId)
	require.Equal(t, acp.ToolCallStatusPending, *asked[0].ToolCall.Status)
	require.Contains(t, asked[0].ToolCall.Content[0].Content.Content.Text.Text, `Run "touch" "made"`)
	var kinds []acp.PermissionOptionKind
	for _, o := range asked[0].Options {
		kinds = append(kinds, o.Kind)
	}
	require.Equal(t, []acp.PermissionOptionKind{acp.PermissionOptionKindAllowOnce, acp.PermissionOptionKindAllowAlways, acp.PermissionOptionKindRejectOnce}, kinds)
	require.NoFileExists(t, made)
	require.Contains(t, words, "the user said no", "the model reads it")
	last, facts := e.last(id)
	require.Equal(t, acp.ToolCallStatusFailed, *last.Status)
	require.Equal(t, true, facts["denied"])

	e.permit = answer("an option that there is not")
	e.prompt(id, execute("touch made"))
	require.NoFileExists(t, made)

	e.permit = answer("once")
	e.prompt(id, execute("touch made"))
	require.FileExists(t, made)
	_, updates, _ := e.seen(id)
	require.Equal(t, acp.ToolCallStatusInProgress, *updates[len(updates)-2].Status, "it is in progress after the permission")
	last, _ = e.last(id)
	require.Equal(t, acp.ToolCallStatusCompleted, *last.Status)
	require.Equal(t, "(no output)", shown(t, last), "the question is gone")

	e.permit = answer("always")
	e.prompt(id, execute("touch made"))
	require.Len(t, asked, 4, "once about each call")
	e.permit = nil // from now on the user is not asked
	require.NoError(t, os.Remove(made))
	e.prompt(id, execute("touch made"), execute("ls"), execute("sleep 0"))
	require.FileExists(t, made)
}

// The status of a call that begins no process goes on once the user has allowed it.
func TestPermissionOfASignal(t *testing.T) {
	e := connect(t)
	id, dir := e.open()
	e.permit = always("once")
	e.prompt(id, `execute {"command":"touch here; sleep 1000","run_in_background":true}`)
	waitForFile(t, filepath.Join(dir, "here"))
	var asked []acp.RequestPermissionRequest // one at a time
	e.permit = func(ctx context.Context, p acp.RequestPermissionRequest) acp.RequestPermissionOutcome {
		asked = append(asked, p)
		return always("once")(ctx, p)
	}
	e.prompt(id, fmt.Sprintf(`process_signal {"process_id":%q,"signal":"kill"}`, e.processes(id)[0].ID))
	calls, updates, _ := e.seen(id)
	require.Len(t, asked, 1)
	require.Equal(t, calls[len(calls)-1].ToolCallId, asked[0].ToolCall.ToolCallId)
	require.GreaterOrEqual(t, len(updates), 2)
	require.Equal(t, asked[0].ToolCall.ToolCallId, updates[len(updates)-2].ToolCallId)
	require.Equal(t, acp.ToolCallStatusInProgress, *updates[len(updates)-2].Status)
}

func TestCancel(t *testing.T) {
	t.Run("while a command runs", func(t *testing.T) {
		e := connect(t)
		e.permit = always("once")
		id, dir := e.open()
		ends := e.begin(id, execute("touch one; sleep 1000"))
		waitForFile(t, filepath.Join(dir, "one"))
		require.NotEmpty(t, e.processes(id))
		began := time.Now()
		require.NoError(t, e.conn.Cancel(t.Context(), acp.CancelNotification{SessionId: id}))
		end := <-ends
		require.NoError(t, end.err)
		require.Equal(t, acp.StopReasonCancelled, end.reason)
		require.Less(t, time.Since(began), 20*time.Second)
		require.Empty(t, e.processes(id))
		last, _ := e.last(id)
		require.Equal(t, acp.ToolCallStatusFailed, *last.Status)
		require.Equal(t, acp.StopReasonEndTurn, e.prompt(id, execute("ls")), "the conversation goes on")
		last, _ = e.last(id)
		require.Contains(t, shown(t, last), "one")
	})
	for _, first := range []string{"session/cancel", "the answer"} {
		t.Run("while a question is open, and "+first+" comes first", func(t *testing.T) {
			e := connect(t)
			id, dir := e.open()
			cancel := func() {
				require.NoError(t, e.conn.Cancel(t.Context(), acp.CancelNotification{SessionId: id}))
			}
			e.permit = func(ctx context.Context, _ acp.RequestPermissionRequest) acp.RequestPermissionOutcome {
				if first == "session/cancel" {
					cancel()
					<-ctx.Done() // the agent withdraws its question
				}
				return acp.NewRequestPermissionOutcomeCancelled()
			}
			require.Equal(t, acp.StopReasonCancelled, e.prompt(id, execute("touch one"), execute("touch two")))
			found, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Empty(t, found)
		})
	}
}

func TestSessions(t *testing.T) {
	e := connect(t)
	e.permit = always("once")
	one, dir := e.open()
	two, _ := e.open()
	e.prompt(one, `execute {"command":"touch here; exec sleep 1000","run_in_background":true}`)
	waitForFile(t, filepath.Join(dir, "here"))
	live := e.processes(one)
	require.Len(t, live, 1)
	require.Empty(t, e.processes(two))

	e.prompt(two, "process_list {}", fmt.Sprintf(`process_output {"process_id":%q}`, live[0].ID))
	_, _, words := e.seen(two)
	require.NotContains(t, words, "sleep 1000")
	require.Contains(t, words, `"success":false`)
	e.prompt(one, "process_list {}")
	_, _, words = e.seen(one)
	require.Contains(t, words, "sleep 1000")

	s, err := e.agent.session(one)
	require.NoError(t, err)
	waits := e.begin(one, execute("touch waits; sleep 1000"))
	waitForFile(t, filepath.Join(dir, "waits"))
	_, err = e.conn.CloseSession(t.Context(), acp.CloseSessionRequest{SessionId: one})
	require.NoError(t, err)
	end := <-waits
	require.NoError(t, end.err)
	require.Equal(t, acp.StopReasonCancelled, end.reason)
	page, err := s.manager.List(t.Context(), procmgr.ListRequest{})
	require.NoError(t, err)
	require.Zero(t, page.Live, "its processes have ended with it")
	require.Error(t, (<-e.begin(one, execute("ls"))).err, "it is gone")
	require.Equal(t, acp.StopReasonEndTurn, e.prompt(two, execute("ls")))

	_, err = e.conn.NewSession(t.Context(), acp.NewSessionRequest{Cwd: filepath.Join(dir, "missing"), McpServers: []acp.McpServer{}})
	require.Error(t, err)
}

// A command that prints much does not flood the editor.
func TestMuchOutput(t *testing.T) {
	e := connect(t)
	e.permit = always("once")
	id, _ := e.open()
	began := time.Now()
	e.prompt(id, execute(`yes "a line of a long output" | head -c 50000000; echo; echo "the end"`))
	took := time.Since(began)
	last, facts := e.last(id)
	require.EqualValues(t, 0, facts["exit_code"])
	require.Contains(t, shown(t, last), "\nthe end\n```")
	e.mu.Lock()
	defer e.mu.Unlock()
	updates := int(took/every) + 2
	require.Less(t, e.bytes, updates*(most+2000)+20_000)
}

// An answer that was cut off runs nothing.
func TestCutAnswer(t *testing.T) {
	for finish, want := range map[string]acp.StopReason{"length": acp.StopReasonMaxTokens, "content_filter": acp.StopReasonRefusal} {
		e := connect(t)
		id, dir := e.open()
		require.Equal(t, want, e.prompt(id, "finish "+finish, execute("touch one")))
		require.NoFileExists(t, filepath.Join(dir, "one"))
		require.Equal(t, acp.StopReasonEndTurn, e.prompt(id, execute("ls")), "the conversation goes on")
	}
}

// What a command prints cannot end the block in which it is shown.
func TestFence(t *testing.T) {
	for text, want := range map[string]string{
		"a\n":              "```console\na\n```",
		"```\n# a":         "````console\n```\n# a\n````",
		"``\x01`` \x1b[1m": "`````console\n```` [1m\n`````",
	} {
		require.Equal(t, want, fenced(text))
	}
}

// The program serves over stdio, and leaves nothing running when the editor has gone.
func TestProgram(t *testing.T) {
	tmp := scratch(t)
	exe, err := os.Executable()
	require.NoError(t, err)
	m := model(t)
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), "ACP_TEST_PROGRAM=1", "OPENAI_BASE_URL="+m.url, "OPENAI_API_KEY=key", "MODEL=m")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	e := newEditor(t, in, out)
	e.permit = always("once")
	e.initialize()
	id, dir := e.open()
	require.Equal(t, acp.StopReasonEndTurn, e.prompt(id, execute(`pwd; echo "key=$OPENAI_API_KEY"`)))
	last, _ := e.last(id)
	require.Equal(t, fmt.Sprintf("```console\n%s\nkey=\n```", dir), shown(t, last), "commands do not get the key")

	ends := e.begin(id, execute("touch one; sleep 1000"))
	waitForFile(t, filepath.Join(dir, "one"))
	require.NoError(t, in.Close())
	<-ends
	require.NoError(t, cmd.Wait())
	requireNothingRuns(t, tmp)
}
