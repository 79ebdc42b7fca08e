package frameworks_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// Each library gets the four tools, and eino's runs a command.
func TestTools(t *testing.T) {
	manager, err := proclocal.New(nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, manager.Close()) }()
	set, err := toolset.New(toolset.Static(manager.Chat("test")), nil)
	require.NoError(t, err)
	require.Len(t, langchaingoTools(set), 4)
	require.Len(t, genkitTools(set), 4)
	for _, def := range set.Definitions() {
		tool, err := adkTool(set, def)
		require.NoError(t, err)
		require.Equal(t, def.Name, tool.Name())
		info, err := einoTool{set, def}.Info(t.Context())
		require.NoError(t, err)
		require.Equal(t, def.Name, info.Name)
	}
	text, err := einoTool{set, set.Definitions()[0]}.InvokableRun(context.Background(), `{"command":"echo it runs"}`)
	require.NoError(t, err)
	require.Contains(t, text, "it runs")
}
