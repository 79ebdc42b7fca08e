// Command anthropic gives the tools of toolproc to a model, by the messages of the client
// anthropic-sdk-go.
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

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

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
	params := anthropic.MessageNewParams{
		Model:     cmp.Or(os.Getenv("MODEL"), anthropic.ModelClaudeSonnet5_5),
		MaxTokens: 16_000, // of one answer; with more the client wants a stream
		Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(prompt))},
	}
	for _, def := range set.Definitions() {
		params.Tools = append(params.Tools, anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{
			Name:        def.Name,
			Description: anthropic.String(def.Description),
			InputSchema: param.Override[anthropic.ToolInputSchemaParam](json.RawMessage(def.Schema)),
		}})
	}
	client := anthropic.NewClient() // of ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY
	for {
		answer, err := client.Messages.New(ctx, params)
		if err != nil {
			return err
		}
		var words strings.Builder
		var calls []toolset.Call
		for _, block := range answer.Content {
			switch block := block.AsAny().(type) {
			case anthropic.TextBlock:
				words.WriteString(block.Text)
			case anthropic.ToolUseBlock:
				calls = append(calls, toolset.Call{ID: block.ID, Name: block.Name, Arguments: block.Input})
			}
		}
		switch answer.StopReason {
		case anthropic.StopReasonToolUse: // below
		case anthropic.StopReasonEndTurn, anthropic.StopReasonStopSequence:
			_, err := fmt.Fprintln(out, words.String())
			return err
		default: // a call in it may be half of one
			return fmt.Errorf("the answer is not complete: %s", answer.StopReason)
		}
		var results []anthropic.ContentBlockParamUnion
		for i, res := range set.CallAll(ctx, calls) {
			results = append(results, anthropic.NewToolResultBlock(calls[i].ID, res.Content, res.IsError))
		}
		params.Messages = append(params.Messages, answer.ToParam(), anthropic.NewUserMessage(results...))
	}
}
