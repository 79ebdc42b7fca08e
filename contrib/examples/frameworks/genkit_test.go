package frameworks_test

import (
	"encoding/json"

	"github.com/firebase/genkit/go/ai"

	"github.com/toolproc/toolproc/chattool/toolset"
)

func genkitTools(set *toolset.Set) (tools []ai.ToolRef) {
	for _, def := range set.Definitions() {
		call := func(ctx *ai.ToolContext, input any) (string, error) {
			arguments, err := json.Marshal(input)
			return set.Call(ctx, toolset.Call{Name: def.Name, Arguments: arguments}).Content, err
		}
		tools = append(tools, ai.NewTool(def.Name, def.Description, call, ai.WithInputSchema(def.SchemaMap())))
	}
	return tools
}
