// Command genkit gives the tools of toolproc to a model, by Genkit and its plugin for APIs
// like that of OpenAI.
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
	"slices"
	"strings"
	"syscall"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"
	"github.com/firebase/genkit/go/plugins/compat_oai"

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
	plugin := &compat_oai.OpenAICompatible{Provider: "openai"} // of OPENAI_BASE_URL and OPENAI_API_KEY
	g := genkit.Init(ctx, genkit.WithPlugins(plugin))
	messages := []*ai.Message{ai.NewUserTextMessage(prompt)}
	for {
		answer, err := genkit.Generate(ctx, g,
			ai.WithModelName("openai/"+cmp.Or(os.Getenv("MODEL"), "gpt-5.2")),
			ai.WithMessages(messages...),
			ai.WithTools(tools(set)...),
			ai.WithMiddleware(sorted),
			ai.WithReturnToolRequests(true), // Genkit would run them all at once
		)
		if err != nil {
			return err
		}
		if answer.FinishReason != ai.FinishReasonStop { // a call in it may be half of one
			return fmt.Errorf("the answer is not complete: %s %s", answer.FinishReason, answer.FinishMessage)
		}
		var calls []toolset.Call
		for _, request := range answer.ToolRequests() {
			arguments, err := json.Marshal(request.Input)
			if err != nil {
				return err
			}
			calls = append(calls, toolset.Call{ID: request.Ref, Name: request.Name, Arguments: arguments})
		}
		if len(calls) == 0 {
			_, err := fmt.Fprintln(out, answer.Text())
			return err
		}
		var results []*ai.Part
		for i, res := range set.CallAll(ctx, calls) {
			results = append(results, ai.NewToolResponsePart(&ai.ToolResponse{
				Ref: calls[i].ID, Name: calls[i].Name, Output: json.RawMessage(res.Content), // a string would be quoted
			}))
		}
		messages = append(messages, answer.Message, ai.NewMessage(ai.RoleTool, nil, results...))
	}
}

// tools are those of a set. Genkit calls their functions if the loop is its own.
func tools(set *toolset.Set) []ai.ToolRef {
	var refs []ai.ToolRef
	for _, def := range set.Definitions() {
		call := func(ctx *ai.ToolContext, input any) (string, error) {
			arguments, err := json.Marshal(input)
			return set.Call(ctx, toolset.Call{Name: def.Name, Arguments: arguments}).Content, err
		}
		refs = append(refs, ai.NewTool(def.Name, def.Description, call, ai.WithInputSchema(def.SchemaMap())))
	}
	return refs
}

// sorted gives the tools the same order in each request, so that a provider can cache the
// prompt. Genkit has them in a map.
func sorted(next ai.ModelFunc) ai.ModelFunc {
	return func(ctx context.Context, req *ai.ModelRequest, cb ai.ModelStreamCallback) (*ai.ModelResponse, error) {
		slices.SortFunc(req.Tools, func(a, b *ai.ToolDefinition) int { return strings.Compare(a.Name, b.Name) })
		return next(ctx, req, cb)
	}
}
