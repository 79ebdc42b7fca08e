package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/examples/internal/exampletest"
)

// The tools reach each provider with their descriptions and schemas.
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
		})
	}
}
