package frameworks_test

import (
	"github.com/tmc/langchaingo/llms"

	"github.com/toolproc/toolproc/chattool/toolset"
)

func langchaingoTools(set *toolset.Set) (tools []llms.Tool) {
	for _, def := range set.Definitions() {
		tools = append(tools, llms.Tool{Type: "function", Function: &llms.FunctionDefinition{
			Name: def.Name, Description: def.Description, Parameters: def.SchemaMap(),
		}})
	}
	return tools
}
