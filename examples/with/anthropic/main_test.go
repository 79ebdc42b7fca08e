package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/toolproc/toolproc/examples/internal/exampletest"
	"github.com/toolproc/toolproc/examples/internal/scripted"
)

func TestMain(m *testing.M) { exampletest.Main(m) }

func TestConversation(t *testing.T) {
	provider(t, scripted.Play(t, scripted.Anthropic))
	scripted.RequireConversation(t, run)
}

func TestReadme(t *testing.T) {
	provider(t, scripted.Play(t, scripted.Anthropic))
	scripted.RequirePage(t)
}

func TestCancel(t *testing.T) {
	answer(t, "tool_use", scripted.Endless)
	scripted.RequireStop(t, run)
}

func TestCutAnswer(t *testing.T) {
	answer(t, "max_tokens", scripted.Touch)
	scripted.RequireNothingDone(t, run, "not complete: max_tokens")
}

// answer serves a model that always answers with one call of execute.
func answer(t *testing.T, stop, input string) {
	t.Helper()
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"type":"message","role":"assistant","stop_reason":%q,"content":[
			{"type":"tool_use","id":"call_0","name":"execute","input":%s}]}`, stop, input)
	}))
	t.Cleanup(model.Close)
	provider(t, model.URL)
}

// provider lets the program ask the model at a URL.
func provider(t *testing.T, url string) {
	t.Helper()
	t.Setenv("ANTHROPIC_BASE_URL", url)
	t.Setenv("ANTHROPIC_API_KEY", "key")
}
