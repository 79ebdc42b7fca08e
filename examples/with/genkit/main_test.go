package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"
	"github.com/firebase/genkit/go/plugins/compat_oai"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/examples/internal/exampletest"
	"github.com/toolproc/toolproc/examples/internal/scripted"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

func TestMain(m *testing.M) { exampletest.Main(m) }

func TestConversation(t *testing.T) {
	tmp := exampletest.Scratch(t)
	t.Setenv("OPENAI_BASE_URL", scripted.Play(t, scripted.OpenAI)+"/v1")
	t.Setenv("OPENAI_API_KEY", "key")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	require.NoError(t, run(ctx, "Build it.", &out))
	require.Contains(t, out.String(), scripted.Words)
	exampletest.RequireNothingRuns(t, tmp)
}

// The tools also work in a loop of Genkit's own.
func TestOwnLoop(t *testing.T) {
	tmp := exampletest.Scratch(t)
	t.Setenv("OPENAI_BASE_URL", scripted.Play(t, scripted.OpenAI)+"/v1")
	t.Setenv("OPENAI_API_KEY", "key")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	manager, err := proclocal.New(nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, manager.Close()) }()
	set := toolset.New(toolset.Static(manager.Chat("test")), nil)
	g := genkit.Init(ctx, genkit.WithPlugins(&compat_oai.OpenAICompatible{Provider: "openai"}))
	words, err := genkit.GenerateText(ctx, g, ai.WithModelName("openai/m"), ai.WithPrompt("Build it."),
		ai.WithTools(tools(set)...), ai.WithMaxTurns(100))
	require.NoError(t, err)
	require.Equal(t, scripted.Words, words)
	exampletest.RequireNothingRuns(t, tmp)
}

// The page shows the program as it is.
func TestReadme(t *testing.T) {
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	program, err := os.ReadFile("main.go")
	require.NoError(t, err)
	blocks := strings.Split(string(page), "```go\n")
	require.Len(t, blocks, 2)
	block, _, closed := strings.Cut(blocks[1], "```")
	require.True(t, closed)
	require.Equal(t, string(program), block)
	require.Less(t, strings.Count(block, "\n"), 120)
}

// If ctx ends while a command runs, run returns, and the command does not go on.
func TestCancel(t *testing.T) {
	tmp := exampletest.Scratch(t)
	answer(t, "tool_calls", `{"command":"touch \"$TMPDIR/one\"; exec sleep 1000","timeout":"10m"}`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- run(ctx, "Wait.", io.Discard) }() // received below
	exampletest.WaitFor(t, filepath.Join(tmp, "one"))
	cancel()
	select {
	case err := <-done:
		require.ErrorIs(t, err, context.Canceled)
	case <-time.After(exampletest.Long):
		require.Fail(t, "run has not returned")
	}
	exampletest.RequireNothingRuns(t, tmp)
}

// A call in an answer that was cut off may be half of one, so it does not run.
func TestCutAnswer(t *testing.T) {
	tmp := exampletest.Scratch(t)
	answer(t, "length", `{"command":"touch \"$TMPDIR/one\""}`)
	require.ErrorContains(t, run(t.Context(), "Go on.", io.Discard), "not complete: length")
	require.NoFileExists(t, filepath.Join(tmp, "one"))
}

// answer serves a model that always answers with one call of execute.
func answer(t *testing.T, finish, arguments string) {
	t.Helper()
	quoted, err := json.Marshal(arguments)
	require.NoError(t, err)
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"choices":[{"finish_reason":%q,"message":{"role":"assistant","tool_calls":[
			{"id":"call_0","type":"function","function":{"name":"execute","arguments":%s}}]}}]}`, finish, quoted)
	}))
	t.Cleanup(model.Close)
	t.Setenv("OPENAI_BASE_URL", model.URL+"/v1")
	t.Setenv("OPENAI_API_KEY", "key")
}
