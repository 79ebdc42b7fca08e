package frameworks_test

import (
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/toolproc/toolproc/chattool/toolset"
)

func adkTool(set *toolset.Set, def toolset.Definition) (tool.Tool, error) {
	schema := new(jsonschema.Schema)
	if err := json.Unmarshal(def.Schema, schema); err != nil {
		return nil, err
	}
	config := functiontool.Config{Name: def.Name, Description: def.Description, InputSchema: schema}
	return functiontool.New(config, func(ctx agent.Context, args map[string]any) (map[string]any, error) {
		arguments, _ := json.Marshal(args) // they were JSON
		res := set.Call(ctx, toolset.Call{ID: ctx.FunctionCallID(), Name: def.Name, Arguments: arguments})
		return map[string]any{"output": res.Content}, nil
	})
}
