package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/examples/internal/exampletest"
	"github.com/toolproc/toolproc/procmgr"
)

// The tools reach each provider as toolset has defined them.
func TestTools(t *testing.T) {
	for _, a := range apis {
		t.Run(a.provider, func(t *testing.T) {
			s := newStage(t, a, func([]string) reply { return reply{words: "Hello."} })
			if machine, _ := s.manager.Describe(t.Context()); machine.Shell != "bash" {
				t.Skip("the files name bash, and the shell here is " + machine.Shell)
			}
			require.NoError(t, s.session.turn(t.Context(), "Hello?"))
			var req struct {
				Tools json.RawMessage `json:"tools"`
			}
			require.NoError(t, json.Unmarshal(s.server.request(1), &req))

			var got bytes.Buffer
			require.NoError(t, json.Indent(&got, req.Tools, "", "\t"))
			got.WriteByte('\n')
			golden := "tools-openai.json" // openaicompat has the same
			if a.provider == "anthropic" {
				golden = "tools-anthropic.json"
			}
			exampletest.RequireGolden(t, golden, got.String())
			requireDefinitions(t, s.manager, req.Tools)
		})
	}
}

// A schema holds the parts of a tool's schema that the test compares. It leaves
// out additionalProperties, because fantasy has no place for it.
type schema struct {
	Type       string         `json:"type"`
	Properties map[string]any `json:"properties"`
	Required   []string       `json:"required"`
}

// requireDefinitions compares the tools sent to a provider with the definitions of
// toolset.
func requireDefinitions(t *testing.T, manager procmgr.Manager, tools json.RawMessage) {
	t.Helper()
	type described struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Parameters  schema `json:"parameters"`   // of OpenAI
		InputSchema schema `json:"input_schema"` // of Anthropic
	}
	var sent []struct {
		described
		Function described `json:"function"`
	}
	require.NoError(t, json.Unmarshal(tools, &sent))
	set, err := toolset.New(toolset.Static(manager), nil)
	require.NoError(t, err)
	definitions := set.Definitions()
	require.Len(t, sent, len(definitions))
	for i, def := range definitions {
		var want schema
		require.NoError(t, json.Unmarshal(def.Schema, &want))
		if want.Required == nil {
			want.Required = []string{}
		}
		got := sent[i].described
		if got.Name == "" {
			got = sent[i].Function
			got.InputSchema = got.Parameters
		}
		require.Equal(t, def.Name, got.Name)
		require.Equal(t, def.Description, got.Description)
		require.Equal(t, want.Properties, got.InputSchema.Properties, def.Name)
		require.ElementsMatch(t, want.Required, got.InputSchema.Required, def.Name)
		require.Equal(t, want.Type, got.InputSchema.Type)
	}
}
