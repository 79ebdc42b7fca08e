package toolset_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
)

// A strict schema requires every property of every object in it. What a model may leave
// out may be null.
func TestStrictSchema(t *testing.T) {
	defs := append(toolset.New(nil, &toolset.Options{Input: true}).Definitions(), toolset.Definition{Schema: []byte(`{
		"type": "object",
		"properties": {"files": {"type": "array", "items": {
			"type": "object", "properties": {"path": {"type": "string"}, "mode": {"type": "string", "enum": ["a", "b"]}}, "required": ["path"]
		}}},
		"required": ["files"]
	}`)})
	var requireStrict func(plain, strict map[string]any)
	requireStrict = func(plain, strict map[string]any) {
		if items, ok := strict["items"].(map[string]any); ok {
			requireStrict(plain["items"].(map[string]any), items)
		}
		properties, ok := strict["properties"].(map[string]any)
		if !ok {
			return
		}
		require.Equal(t, false, strict["additionalProperties"])
		required, _ := plain["required"].([]any)
		require.Len(t, strict["required"], len(properties))
		for name, property := range properties {
			require.Contains(t, strict["required"], name)
			property, before := property.(map[string]any), plain["properties"].(map[string]any)[name].(map[string]any)
			requireStrict(before, property)
			if slices.Contains(required, any(name)) {
				require.Equal(t, before["type"], property["type"], name)
				continue
			}
			require.Equal(t, []any{before["type"], "null"}, property["type"], name)
			if values, ok := before["enum"].([]any); ok {
				require.Equal(t, append(values, nil), property["enum"])
			}
		}
	}
	for _, def := range defs {
		var plain map[string]any
		require.NoError(t, json.Unmarshal(def.Schema, &plain))
		require.Equal(t, plain, def.SchemaMap())
		requireStrict(plain, def.StrictSchema())
		def.SchemaMap()["type"] = "other"
		require.Equal(t, plain, def.SchemaMap(), "the caller owns it")
	}
	require.Nil(t, toolset.Definition{}.SchemaMap())
}

// A model that is held to a strict schema sends null for what it leaves out.
func TestNullIsLeftOut(t *testing.T) {
	set := toolset.New(toolset.Static(newHost(t, nil).Chat("a")), &toolset.Options{Input: true})
	for _, def := range set.Definitions() {
		if def.Name != "execute" {
			continue
		}
		arguments := make(map[string]any)
		for name := range def.StrictSchema()["properties"].(map[string]any) {
			arguments[name] = nil
		}
		arguments["command"] = "echo it runs"
		res := callWith(t, set, "execute", arguments)
		require.False(t, res.IsError, res.Content)
		require.Equal(t, "it runs\n", res.Output.Text)
	}
}

func callWith(t *testing.T, set *toolset.Set, name string, arguments map[string]any) toolset.Result {
	t.Helper()
	data, err := json.Marshal(arguments)
	require.NoError(t, err)
	return set.Call(t.Context(), toolset.Call{Name: name, Arguments: data})
}
