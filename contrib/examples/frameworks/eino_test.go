package frameworks_test

import (
	"context"
	"encoding/json"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"

	"github.com/toolproc/toolproc/chattool/toolset"
)

type einoTool struct {
	set *toolset.Set
	def toolset.Definition
}

func (t einoTool) Info(context.Context) (*schema.ToolInfo, error) {
	params := new(jsonschema.Schema)
	err := json.Unmarshal(t.def.Schema, params)
	return &schema.ToolInfo{Name: t.def.Name, Desc: t.def.Description, ParamsOneOf: schema.NewParamsOneOfByJSONSchema(params)}, err
}

func (t einoTool) InvokableRun(ctx context.Context, arguments string, _ ...tool.Option) (string, error) {
	call := toolset.Call{ID: compose.GetToolCallID(ctx), Name: t.def.Name, Arguments: json.RawMessage(arguments)}
	return t.set.Call(ctx, call).Content, nil
}

var _ tool.InvokableTool = einoTool{}
