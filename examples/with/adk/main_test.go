package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/examples/internal/exampletest"
	"github.com/toolproc/toolproc/examples/internal/scripted"
)

func TestMain(m *testing.M) { exampletest.Main(m) }

func TestConversation(t *testing.T) {
	tmp := exampletest.Scratch(t)
	t.Setenv("GOOGLE_GEMINI_BASE_URL", scripted.Play(t, scripted.Gemini))
	t.Setenv("GEMINI_API_KEY", "key")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	require.NoError(t, run(ctx, "Build it.", &out))
	require.Contains(t, out.String(), scripted.Words)
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
	answer(t, "STOP", `{"command":"touch \"$TMPDIR/one\"; exec sleep 1000","timeout":"10m"}`)
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
	answer(t, "MAX_TOKENS", `{"command":"touch \"$TMPDIR/one\""}`)
	require.ErrorContains(t, run(t.Context(), "Go on.", io.Discard), "not complete: MAX_TOKENS")
	require.NoFileExists(t, filepath.Join(tmp, "one"))
}

// answer serves a model that always answers with one call of execute.
func answer(t *testing.T, finish, arguments string) {
	t.Helper()
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"candidates":[{"finishReason":%q,"content":{"role":"model","parts":[
			{"functionCall":{"name":"execute","args":%s}}]}}]}`, finish, arguments)
	}))
	t.Cleanup(model.Close)
	t.Setenv("GOOGLE_GEMINI_BASE_URL", model.URL)
	t.Setenv("GEMINI_API_KEY", "key")
}
