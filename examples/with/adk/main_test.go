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
	provider(t, scripted.Play(t, scripted.Gemini))
	scripted.RequireConversation(t, run)
}

func TestReadme(t *testing.T) {
	provider(t, scripted.Play(t, scripted.Gemini))
	scripted.RequirePage(t)
}

func TestCancel(t *testing.T) {
	answer(t, "STOP", scripted.Endless)
	scripted.RequireStop(t, run)
}

func TestCutAnswer(t *testing.T) {
	answer(t, "MAX_TOKENS", scripted.Touch)
	scripted.RequireNothingDone(t, run, "not complete: MAX_TOKENS")
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
	provider(t, model.URL)
}

// provider lets the program ask the model at a URL.
func provider(t *testing.T, url string) {
	t.Helper()
	t.Setenv("GOOGLE_GEMINI_BASE_URL", url)
	t.Setenv("GEMINI_API_KEY", "key")
}
