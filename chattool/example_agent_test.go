package chattool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	"charm.land/fantasy"

	"github.com/toolproc/toolproc/chattool"
	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A scriptedModel runs one command and says what it printed. A real agent has a
// model of one of fantasy's providers instead.
type scriptedModel struct{ fantasy.LanguageModel }

func (scriptedModel) Provider() string { return "script" }
func (scriptedModel) Model() string    { return "script" }

func (scriptedModel) Generate(_ context.Context, call fantasy.Call) (*fantasy.Response, error) {
	last := call.Prompt[len(call.Prompt)-1]
	if last.Role == fantasy.MessageRoleUser {
		return &fantasy.Response{
			Content:      fantasy.ResponseContent{fantasy.ToolCallContent{ToolCallID: "1", ToolName: "execute", Input: `{"command":"echo hello"}`}},
			FinishReason: fantasy.FinishReasonToolCalls,
		}, nil
	}
	read, _ := fantasy.AsMessagePart[fantasy.ToolResultPart](last.Content[0])
	content, _ := fantasy.AsToolResultOutputType[fantasy.ToolResultOutputContentText](read.Output)
	var result struct{ Output string }
	if err := json.Unmarshal([]byte(content.Text), &result); err != nil {
		return nil, err
	}
	return &fantasy.Response{
		Content:      fantasy.ResponseContent{fantasy.TextContent{Text: fmt.Sprintf("It has printed %q.", result.Output)}},
		FinishReason: fantasy.FinishReasonStop,
	}, nil
}

// This agent ends the processes that it started, at Ctrl-C as well.
func ExampleNewAgent() {
	// Ctrl-C ends ctx but not the program, so that Close is called.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	manager, err := proclocal.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer manager.Close() // ends what still runs

	set, err := toolset.New(toolset.Static(manager.Chat("chat-1")), nil)
	if err != nil {
		log.Print(err)
		return
	}
	agent := chattool.NewAgent(scriptedModel{}, chattool.Tools(set))
	result, err := agent.Generate(ctx, fantasy.AgentCall{Prompt: "Say hello."})
	if err != nil {
		log.Print(err) // log.Fatal would skip Close
		return
	}
	fmt.Println(result.Response.Content.Text())
	// Output: It has printed "hello\n".
}
