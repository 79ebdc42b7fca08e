package scripted

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/examples/internal/exampletest"
	"github.com/toolproc/toolproc/internal/testenv"
)

// A Run is the function of a program that lets a model work on a prompt. The model's
// provider is in the environment of the test.
type Run func(ctx context.Context, prompt string, out io.Writer) error

// RequireConversation runs a program to the end of the conversation that Play has begun.
func RequireConversation(t *testing.T, run Run) {
	t.Helper()
	tmp := exampletest.Scratch(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	require.NoError(t, run(ctx, "Build it.", &out))
	require.Contains(t, out.String(), Words)
	exampletest.RequireNothingRuns(t, tmp)
}

// RequirePage compares the program in README.md with main.go, and runs it to the end of the
// conversation that Play has begun, as somebody does who has copied it.
func RequirePage(t *testing.T) {
	t.Helper()
	block, copied := testenv.Copied(t)
	program, err := os.ReadFile("main.go")
	require.NoError(t, err)
	require.Equal(t, string(program), block)
	require.Less(t, strings.Count(block, "\n"), 120)
	tmp := exampletest.Scratch(t)
	out, err := exec.CommandContext(t.Context(), copied, "Build it.").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), Words)
	exampletest.RequireNothingRuns(t, tmp)
}

// Endless has the arguments of a command for RequireStop.
const Endless = `{"command":"touch \"$TMPDIR/one\"; exec sleep 1000","timeout":"10m"}`

// RequireStop ends the context of a program while Endless runs, for which the model asks:
// the program returns, and the command does not go on.
func RequireStop(t *testing.T, run Run) {
	t.Helper()
	tmp := exampletest.Scratch(t)
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

// Touch has the arguments of a command for RequireNothingDone.
const Touch = `{"command":"touch \"$TMPDIR/one\""}`

// RequireNothingDone runs a program whose model asks for Touch in an answer that was cut
// off: a call in it may be half of one, so it does not run, and the error says why.
func RequireNothingDone(t *testing.T, run Run, complaint string) {
	t.Helper()
	tmp := exampletest.Scratch(t)
	require.ErrorContains(t, run(t.Context(), "Go on.", io.Discard), complaint)
	require.NoFileExists(t, filepath.Join(tmp, "one"))
}

// A Call is one that a model asks for.
type Call struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Completions serves a model by chat completions that answers with these calls, and says
// that it is done once it has their results. It returns its URL and the bodies of the
// requests so far.
func Completions(t *testing.T, finish string, calls ...Call) (url string, bodies *[][]byte) {
	t.Helper()
	var all []any
	for i, call := range calls {
		all = append(all, map[string]any{"id": fmt.Sprintf("call_%d", i), "type": "function", "function": call})
	}
	bodies = new([][]byte)
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*bodies = append(*bodies, body)
		message := map[string]any{"role": "assistant", "content": "I run it.", "tool_calls": all}
		if bytes.Contains(body, []byte(`"role":"tool"`)) {
			finish, message = "stop", map[string]any{"role": "assistant", "content": "It is done."}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"finish_reason": finish, "message": message}}})
	}))
	t.Cleanup(model.Close)
	return model.URL, bodies
}
