package chattool

import (
	"context"
	"encoding/json"
	"sync"

	"charm.land/fantasy"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
)

// All returns the tools of a new Set, in the order of [toolset.Set.Definitions]. A model
// that can start processes needs all of them. opts may be nil, and is copied. All
// fails if [toolset.New] does.
func All(managers toolset.Resolver, opts *toolset.Options) ([]fantasy.AgentTool, error) {
	set, err := toolset.New(managers, opts)
	if err != nil {
		return nil, xerrors.Errorf("chattool: %w", err)
	}
	return Tools(set), nil
}

// Tools returns the tools of a Set, in the order of All. It is for a host
// that needs the Set itself: for [toolset.Set.Forget], when it has compacted a
// conversation, or for an [toolset.Inbox].
func Tools(set *toolset.Set) []fantasy.AgentTool {
	return adapt(set.Definitions(), func(ctx context.Context, call toolset.Call) fantasy.ToolResponse {
		res := set.Call(ctx, call)
		response := respond(res.Content, res.IsError)
		if res.Output != nil {
			p := res.Output.Process
			response = fantasy.WithResponseMetadata(response, metadata{ProcessID: p.ID, State: p.State, ExitCode: p.ExitCode})
		}
		return response
	})
}

// ToolsOf returns the tools of another set that has the shape of [toolset.Set], such as that
// of contrib/filetool:
//
//	tools := chattool.ToolsOf(files.Definitions(), func(ctx context.Context, c toolset.Call) (string, bool) {
//		res := files.Call(ctx, c)
//		return res.Content, res.IsError
//	})
//
// call carries out a call, and returns its result as the model reads it;
// isError reports that the tool could not do its work. The metadata of the responses is empty.
// A Schema has to be JSON.
func ToolsOf(defs []toolset.Definition, call func(ctx context.Context, c toolset.Call) (content string, isError bool)) []fantasy.AgentTool {
	return adapt(defs, func(ctx context.Context, c toolset.Call) fantasy.ToolResponse {
		return respond(call(ctx, c))
	})
}

func adapt(defs []toolset.Definition, run func(context.Context, toolset.Call) fantasy.ToolResponse) []fantasy.AgentTool {
	tools := make([]fantasy.AgentTool, len(defs))
	for i, def := range defs {
		tools[i] = &tool{run: run, def: def}
	}
	return tools
}

func respond(content string, isError bool) fantasy.ToolResponse {
	response := fantasy.NewTextResponse(content)
	response.IsError = isError
	return response
}

// A tool is one tool of a Set. It is safe for concurrent use.
type tool struct {
	run func(context.Context, toolset.Call) fantasy.ToolResponse
	def toolset.Definition // never changed

	mu      sync.Mutex // guards options
	options fantasy.ProviderOptions
}

// Info describes the tool. The caller owns the maps and slices that it returns:
// fantasy rewrites the parameters of a tool before it sends them.
func (t *tool) Info() fantasy.ToolInfo {
	var schema struct {
		Properties map[string]any `json:"properties"`
		Required   []string       `json:"required"`
	}
	if err := json.Unmarshal(t.def.Schema, &schema); err != nil {
		panic("chattool: the schema of " + t.def.Name + ": " + err.Error()) // who defined it wrote it
	}
	// Providers want an empty object and an empty list, not null.
	if schema.Properties == nil {
		schema.Properties = map[string]any{}
	}
	if schema.Required == nil {
		schema.Required = []string{}
	}
	return fantasy.ToolInfo{
		Name:        t.def.Name,
		Description: t.def.Description,
		Parameters:  schema.Properties,
		Required:    schema.Required,
		Parallel:    t.def.Parallel,
	}
}

// metadata tells a user interface which process a response is about.
type metadata struct {
	ProcessID string        `json:"process_id"`
	State     procmgr.State `json:"state"`
	ExitCode  *int          `json:"exit_code,omitempty"`
}

// Run carries out a call. It always returns a nil error.
func (t *tool) Run(ctx context.Context, call fantasy.ToolCall) (fantasy.ToolResponse, error) {
	return t.run(ctx, toolset.Call{
		ID: call.ID,
		// The host may have given the tool another name in fantasy. The
		// call is for this tool all the same.
		Name:      t.def.Name,
		Arguments: json.RawMessage(call.Input),
	}), nil
}

// ProviderOptions returns the options of the last call of SetProviderOptions.
func (t *tool) ProviderOptions() fantasy.ProviderOptions {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.options
}

// SetProviderOptions sets the options that a provider gets with the tool.
func (t *tool) SetProviderOptions(opts fantasy.ProviderOptions) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.options = opts
}
