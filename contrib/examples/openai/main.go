// Command openai gives the tools of toolproc to a model, by the chat completions of the
// client openai-go.
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

	"github.com/openai/openai-go/v3"

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

	set, err := toolset.New(toolset.Static(manager.Chat("chat-1")), nil)
	if err != nil {
		return err
	}
	params := openai.ChatCompletionNewParams{
		Model:    cmp.Or(os.Getenv("MODEL"), openai.ChatModelGPT5_2),
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(prompt)},
	}
	for _, def := range set.Definitions() {
		params.Tools = append(params.Tools, openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
			Name: def.Name, Description: openai.String(def.Description), Parameters: def.SchemaMap(),
		}))
	}
	client := openai.NewClient() // of OPENAI_BASE_URL and OPENAI_API_KEY
	for {
		completion, err := client.Chat.Completions.New(ctx, params)
		if err != nil {
			return err
		}
		if len(completion.Choices) == 0 {
			return errors.New("the completion has no choices")
		}
		answer := completion.Choices[0]
		if answer.FinishReason == "length" || answer.FinishReason == "content_filter" {
			return fmt.Errorf("the answer was cut off: %s", answer.FinishReason) // a call in it may be half of one
		}
		if len(answer.Message.ToolCalls) == 0 {
			_, err := fmt.Fprintln(out, cmp.Or(answer.Message.Content, answer.Message.Refusal))
			return err
		}
		params.Messages = append(params.Messages, answer.Message.ToParam())
		var calls []toolset.Call
		for _, call := range answer.Message.ToolCalls {
			calls = append(calls, toolset.Call{ID: call.ID, Name: call.Function.Name, Arguments: json.RawMessage(call.Function.Arguments)})
		}
		for i, res := range set.CallAll(ctx, calls) {
			params.Messages = append(params.Messages, openai.ToolMessage(res.Content, calls[i].ID))
		}
	}
}
