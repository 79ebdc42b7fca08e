// Command adk gives the tools of toolproc to an agent of the Agent Development Kit.
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

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/adk/agent"
	"google.golang.org/adk/agent/llmagent"
	"google.golang.org/adk/model"
	"google.golang.org/adk/model/gemini"
	"google.golang.org/adk/runner"
	"google.golang.org/adk/session"
	"google.golang.org/adk/tool"
	"google.golang.org/adk/tool/functiontool"
	"google.golang.org/genai"

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

	tools, err := functionTools(toolset.New(toolset.Static(manager.Chat("chat-1")), nil))
	if err != nil {
		return err
	}
	llm, err := gemini.NewModel(ctx, cmp.Or(os.Getenv("MODEL"), "gemini-2.5-flash"), nil) // of GEMINI_API_KEY and GOOGLE_GEMINI_BASE_URL
	if err != nil {
		return err
	}
	worker, err := llmagent.New(llmagent.Config{
		Name: "worker", Model: llm, Tools: tools, AfterModelCallbacks: []llmagent.AfterModelCallback{refuseCut},
	})
	if err != nil {
		return err
	}
	sessions := session.InMemoryService()
	created, err := sessions.Create(ctx, &session.CreateRequest{AppName: "toolproc", UserID: "person"})
	if err != nil {
		return err
	}
	loop, err := runner.New(runner.Config{AppName: "toolproc", Agent: worker, SessionService: sessions})
	if err != nil {
		return err
	}
	var words strings.Builder
	message := genai.NewContentFromText(prompt, genai.RoleUser)
	for event, err := range loop.Run(ctx, "person", created.Session.ID(), message, agent.RunConfig{}) {
		if err != nil {
			return err
		}
		for _, part := range event.Content.Parts {
			if event.IsFinalResponse() && !part.Thought {
				words.WriteString(part.Text)
			}
		}
	}
	_, err = fmt.Fprintln(out, words.String())
	return err
}

// functionTools are the tools of a set.
func functionTools(set *toolset.Set) ([]tool.Tool, error) {
	var tools []tool.Tool
	for _, def := range set.Definitions() {
		schema := new(jsonschema.Schema)
		if err := json.Unmarshal(def.Schema, schema); err != nil {
			return nil, err
		}
		call := func(ctx tool.Context, args map[string]any) (map[string]any, error) {
			arguments, _ := json.Marshal(args) // they were JSON
			res := set.Call(ctx, toolset.Call{ID: ctx.FunctionCallID(), Name: def.Name, Arguments: arguments})
			if res.IsError {
				return map[string]any{"error": res.Content}, nil
			}
			return map[string]any{"output": res.Content}, nil // Gemini knows both names
		}
		one, err := functiontool.New(functiontool.Config{Name: def.Name, Description: def.Description, InputSchema: schema}, call)
		if err != nil {
			return nil, err
		}
		tools = append(tools, one)
	}
	return tools, nil
}

// refuseCut ends the loop if an answer is not complete, since a call in it may be half of one.
func refuseCut(_ agent.CallbackContext, answer *model.LLMResponse, err error) (*model.LLMResponse, error) {
	if err == nil && (answer.FinishReason != genai.FinishReasonStop || answer.Content == nil) {
		err = fmt.Errorf("the answer is not complete: %s %s", cmp.Or(string(answer.FinishReason), answer.ErrorCode), answer.ErrorMessage)
	}
	return nil, err
}
