//go:build unix

package readme_test

import (
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// withRules has the pages of the programs that use another library. The tests of their
// modules compile and run them.
var withRules = []rule{
	{page: "examples/with/adk/README.md", language: "go", has: "// Command adk gives", run: withProgram, elsewhere: true},
	{page: "examples/with/adk/README.md", language: "console", has: "GEMINI_API_KEY=...", run: withCommands},
	{page: "examples/with/anthropic/README.md", language: "go", has: "// Command anthropic gives", run: withProgram, elsewhere: true},
	{page: "examples/with/anthropic/README.md", language: "console", has: "ANTHROPIC_API_KEY=...", run: withCommands},
	{page: "examples/with/eino/README.md", language: "go", has: "// Command eino gives", run: withProgram, elsewhere: true},
	{page: "examples/with/eino/README.md", language: "console", has: `go run . "Does it build?"`, run: withCommands},
	{page: "examples/with/genkit/README.md", language: "go", has: "// Command genkit gives", run: withProgram, elsewhere: true},
	{page: "examples/with/genkit/README.md", language: "console", has: `go run . "Which tests are slow?"`, run: withCommands},
	{page: "examples/with/langchaingo/README.md", language: "go", has: "// Command langchaingo gives", run: withProgram, elsewhere: true},
	{page: "examples/with/langchaingo/README.md", language: "console", has: "export OPENAI_API_KEY=...", run: withCommands},
	{page: "examples/with/openai/README.md", language: "go", has: "// Command openai gives", run: withProgram, elsewhere: true},
	{page: "examples/with/openai/README.md", language: "console", has: "OPENAI_API_KEY=...", run: withCommands},
}

// procotelRules has those of procotel, whose test runs its program.
var procotelRules = []rule{
	{page: "procotel/README.md", language: "console", has: "toolproc/procotel", run: goGet},
	{page: "procotel/README.md", language: "go", has: "procotel.New(", run: func(t *testing.T, _ *pages, _ block) {
		require.Contains(t, read(t, "procotel/readme_test.go"), "testenv.Copied(t)")
	}, elsewhere: true},
}

// withProgram is the program as it stands beside the page.
func withProgram(t *testing.T, _ *pages, b block) {
	require.Equal(t, read(t, path.Join(path.Dir(b.page), "main.go")), b.text)
}

// withCommands sets a variable that the test of the program sets too, and runs the program.
func withCommands(t *testing.T, _ *pages, b block) {
	typed := commands(t, b)
	require.Len(t, typed, 2)
	variable, _, ok := strings.Cut(strings.TrimPrefix(typed[0], "export "), "=")
	require.True(t, ok, typed[0])
	require.Contains(t, read(t, path.Join(path.Dir(b.page), "main_test.go")), `t.Setenv("`+variable+`"`)
	require.True(t, strings.HasPrefix(typed[1], "go run . "), typed[1])
}
