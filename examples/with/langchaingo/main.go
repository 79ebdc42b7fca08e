// Command langchaingo gives the tools of toolproc to a model, by the OpenAI model of
// langchaingo.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/openai"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

func main() {
	// Ctrl-C ends ctx and not the program, so that manager.Close is called.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	prompt := cmp.Or(strings.Join(os.Args[1:], " "), "Which program listens on the most ports here?")
	if err := run(ctx, prompt, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, prompt string, out io.Writer) (err error) {
	manager, err := proclocal.New(nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, manager.Close()) }() // ends what still runs

	set := toolset.New(toolset.Static(manager.Chat("chat-1")), nil)
	var tools []llms.Tool
	for _, def := range set.Definitions() {
		tools = append(tools, llms.Tool{Type: "function", Function: &llms.FunctionDefinition{
			Name: def.Name, Description: def.Description, Parameters: def.SchemaMap(),
		}})
	}
	// The endpoint and the key are those of OPENAI_BASE_URL and OPENAI_API_KEY.
	model, err := openai.New(openai.WithModel(cmp.Or(os.Getenv("MODEL"), "gpt-5.2")))
	if err != nil {
		return err
	}
	messages := []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, prompt)}
	for {
		response, err := model.GenerateContent(ctx, messages, llms.WithTools(tools))
		if err != nil {
			return errors.Join(ctx.Err(), err) // err does not wrap that of ctx
		}
		answer := response.Choices[0] // without a choice there is an error
		if answer.StopReason == "length" || answer.StopReason == "content_filter" {
			return fmt.Errorf("the answer was cut off: %s", answer.StopReason) // a call in it may be half of one
		}
		if len(answer.ToolCalls) == 0 {
			_, err := fmt.Fprintln(out, answer.Content)
			return err
		}
		said := llms.MessageContent{Role: llms.ChatMessageTypeAI}
		if answer.Content != "" {
			said.Parts = append(said.Parts, llms.TextPart(answer.Content))
		}
		var calls []toolset.Call
		for _, call := range answer.ToolCalls {
			said.Parts = append(said.Parts, call)
			calls = append(calls, toolset.Call{ID: call.ID, Name: call.FunctionCall.Name, Arguments: json.RawMessage(call.FunctionCall.Arguments)})
		}
		messages = append(messages, said)
		for i, res := range set.CallAll(ctx, calls) {
			messages = append(messages, llms.MessageContent{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{
				llms.ToolCallResponse{ToolCallID: calls[i].ID, Name: calls[i].Name, Content: res.Content},
			}})
		}
	}
}
