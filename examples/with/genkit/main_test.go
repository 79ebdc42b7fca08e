package main

import (
	"context"
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
	provider(t, scripted.Play(t, scripted.OpenAI))
	scripted.RequireConversation(t, run)
}

func TestReadme(t *testing.T) {
	provider(t, scripted.Play(t, scripted.OpenAI))
	scripted.RequirePage(t)
}

func TestCancel(t *testing.T) {
	answer(t, "tool_calls", scripted.Endless)
	scripted.RequireStop(t, run)
}

func TestCutAnswer(t *testing.T) {
	answer(t, "length", scripted.Touch)
	scripted.RequireNothingDone(t, run, "not complete: length")
}

// The tools also work in a loop of Genkit's own.
func TestOwnLoop(t *testing.T) {
	tmp := exampletest.Scratch(t)
	provider(t, scripted.Play(t, scripted.OpenAI))
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

// answer lets a model answer with one call of execute.
func answer(t *testing.T, finish, arguments string) {
	t.Helper()
	url, _ := scripted.Completions(t, finish, scripted.Call{Name: "execute", Arguments: arguments})
	provider(t, url)
}

// provider lets the program ask the model at a URL.
func provider(t *testing.T, url string) {
	t.Helper()
	t.Setenv("OPENAI_BASE_URL", url+"/v1")
	t.Setenv("OPENAI_API_KEY", "key")
}
