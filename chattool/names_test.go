package chattool_test

import (
	"testing"

	"charm.land/fantasy"
	"github.com/stretchr/testify/require"
	"github.com/toolproc/toolproc/chattool"
	"github.com/toolproc/toolproc/chattool/toolset"
)

// fantasy gets the names that the host chose, and results use them too.
func TestNames(t *testing.T) {
	t.Parallel()
	opts := &toolset.Options{Names: map[string]string{"execute": "bash", "process_output": "bash_output"}}
	tools := chattool.All(toolset.Static(&fake{exit: -1}), opts)
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Info().Name)
	}
	require.Equal(t, []string{"bash", "bash_output", "process_list", "process_signal"}, names)

	response, err := tools[0].Run(t.Context(), fantasy.ToolCall{ID: "1", Name: "bash", Input: `{"command":"x"}`})
	require.NoError(t, err)
	require.False(t, response.IsError)
	require.Contains(t, response.Content, "Use bash_output {")
	require.NotContains(t, response.Content, "process_output")

	opts.Names["bash"] = "sh"
	response, err = chattool.All(toolset.Static(&fake{}), opts)[0].Run(t.Context(), fantasy.ToolCall{ID: "1", Name: "bash", Input: `{"command":"x"}`})
	require.NoError(t, err)
	require.True(t, response.IsError)
	require.Contains(t, response.Content, "Options.Names cannot be used")
}
