package toolset_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
)

func TestSchemaMap(t *testing.T) {
	for _, def := range newSet(nowhere, &toolset.Options{Input: true}).Definitions() {
		var plain map[string]any
		require.NoError(t, json.Unmarshal(def.Schema, &plain))
		require.Equal(t, plain, def.SchemaMap())
		def.SchemaMap()["type"] = "other"
		require.Equal(t, plain, def.SchemaMap(), "the caller owns it")
	}
	require.Nil(t, toolset.Definition{}.SchemaMap())
}

// A model that is held to a strict schema sends null for what it leaves out.
func TestNullIsLeftOut(t *testing.T) {
	set := newSet(toolset.Static(newHost(t, nil).Chat("a")), &toolset.Options{Input: true})
	for _, def := range set.Definitions() {
		if def.Name != "execute" {
			continue
		}
		arguments := make(map[string]any)
		for name := range def.SchemaMap()["properties"].(map[string]any) {
			arguments[name] = nil
		}
		arguments["command"] = "echo it runs"
		data, err := json.Marshal(arguments)
		require.NoError(t, err)
		res := say(t, set, "execute", string(data))
		require.False(t, res.IsError, res.Content)
		require.Equal(t, "it runs\n", res.Output.Text)
	}
}
