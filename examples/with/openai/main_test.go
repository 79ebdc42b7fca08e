package main

import (
	"encoding/json"
	"strings"
	"testing"

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
	scripted.RequireNothingDone(t, run, "cut off: length")
}

// The person reads what was printed. The model also reads what to do next.
func TestTwoAudiences(t *testing.T) {
	exampletest.Scratch(t)
	manager, err := proclocal.New(nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, manager.Close()) }()
	set := toolset.New(toolset.Static(manager.Chat("test")), nil)
	call := toolset.Call{Name: "execute", Arguments: json.RawMessage(`{"command":"yes | head -n 100; exec sleep 1000","timeout":"1s"}`)}
	res := set.Call(t.Context(), call)
	person := forPerson(call, res)
	require.Contains(t, person, "execute: success=false error=")
	require.Contains(t, person, " process="+res.Report.ProcessID)
	require.Equal(t, 100, strings.Count(person, "\ny"))
	require.NotContains(t, person, "process_output", "advice for the model")
	require.Contains(t, res.Content, "process_output")
	require.NotContains(t, res.Content, `y\ny\ny`)
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
