package chattool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"charm.land/fantasy"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool"
	"github.com/toolproc/toolproc/chattool/toolset"
)

var weather = []toolset.Definition{{
	Name: "weather", Description: "The weather in a town.", Parallel: true,
	Schema: json.RawMessage(`{"type":"object","properties":{"town":{"type":"string"}},"required":["town"]}`),
}, {Name: "rain", Schema: json.RawMessage(`{"type":"object"}`)}}

func ExampleToolsOf() {
	tools := chattool.ToolsOf(weather, func(_ context.Context, c toolset.Call) (content string, isError bool) {
		return "sunny", false // c has the tool's name and its arguments
	})
	fmt.Println(tools[0].Info().Name, tools[0].Info().Required)
	// Output: weather [town]
}

// A call reaches the tool that was meant, by its own name, with the arguments as the model
// wrote them, and a result that is an error is no error of Go.
func TestToolsOf(t *testing.T) {
	t.Parallel()
	var got toolset.Call
	tools := chattool.ToolsOf(weather, func(_ context.Context, c toolset.Call) (string, bool) {
		got = c
		return c.Name + " fails", c.Name == "rain"
	})
	require.True(t, tools[0].Info().Parallel)
	require.False(t, tools[1].Info().Parallel)
	require.Equal(t, map[string]any{"town": map[string]any{"type": "string"}}, tools[0].Info().Parameters)
	require.Equal(t, map[string]any{}, tools[1].Info().Parameters)
	response, err := tools[0].Run(t.Context(), fantasy.ToolCall{ID: "1", Name: "any", Input: `{"town":`})
	require.NoError(t, err)
	require.Equal(t, toolset.Call{ID: "1", Name: "weather", Arguments: json.RawMessage(`{"town":`)}, got)
	require.False(t, response.IsError)
	require.Empty(t, response.Metadata)
	response, err = tools[1].Run(t.Context(), fantasy.ToolCall{ID: "2"})
	require.NoError(t, err)
	require.True(t, response.IsError)
	require.Equal(t, "rain fails", response.Content)
}
