// Command eino gives the tools of toolproc to the ReAct agent of eino.
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

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"

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
	tools := compose.ToolsNodeConfig{
		ExecuteSequentially: true, // a call may depend on the one before it
		// An error would end the agent. The Set says which tools there are.
		UnknownToolsHandler: func(ctx context.Context, name, arguments string) (string, error) {
			return call(ctx, set, name, arguments), nil
		},
	}
	for _, def := range set.Definitions() {
		tools.Tools = append(tools.Tools, &einoTool{set: set, def: def})
	}
	model, err := openai.NewChatModel(ctx, &openai.ChatModelConfig{
		BaseURL: os.Getenv("OPENAI_BASE_URL"),
		APIKey:  os.Getenv("OPENAI_API_KEY"),
		Model:   cmp.Or(os.Getenv("MODEL"), "gpt-5.2"),
	})
	if err != nil {
		return err
	}
	// An answer and its calls are two steps. By default the agent fails after seven answers.
	agent, err := react.NewAgent(ctx, &react.AgentConfig{
		ToolCallingModel: model, ToolsConfig: tools, StreamToolCallChecker: hasCalls, MaxStep: 1000,
	})
	if err != nil {
		return err
	}
	answer, err := agent.Generate(ctx, []*schema.Message{schema.UserMessage(prompt)})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, answer.Content)
	return err
}

// An einoTool is one tool of a Set, as a tool.InvokableTool.
type einoTool struct {
	set *toolset.Set
	def toolset.Definition
}

func (t *einoTool) Info(context.Context) (*schema.ToolInfo, error) {
	params := new(jsonschema.Schema)
	if err := json.Unmarshal(t.def.Schema, params); err != nil {
		return nil, err
	}
	return &schema.ToolInfo{Name: t.def.Name, Desc: t.def.Description, ParamsOneOf: schema.NewParamsOneOfByJSONSchema(params)}, nil
}

func (t *einoTool) InvokableRun(ctx context.Context, arguments string, _ ...tool.Option) (string, error) {
	return call(ctx, t.set, t.def.Name, arguments), nil
}

func call(ctx context.Context, set *toolset.Set, name, arguments string) string {
	return set.Call(ctx, toolset.Call{ID: compose.GetToolCallID(ctx), Name: name, Arguments: json.RawMessage(arguments)}).Content
}

// hasCalls tells the agent whether to go on. If an answer was cut off, a call in it may
// be half of one: then the agent ends.
func hasCalls(_ context.Context, stream *schema.StreamReader[*schema.Message]) (bool, error) {
	answer, err := schema.ConcatMessageStream(stream) // and closes it
	if err != nil {
		return false, err
	}
	if meta := answer.ResponseMeta; meta != nil && (meta.FinishReason == "length" || meta.FinishReason == "content_filter") {
		return false, fmt.Errorf("the answer was cut off: %s", meta.FinishReason)
	}
	return len(answer.ToolCalls) > 0, nil
}
