//go:build unix

package readme_test

import (
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const frameworks = "contrib/examples/frameworks/"

// withRules has the blocks that another module compiles.
var withRules = []rule{
	{page: "docs/frameworks.md", language: "go", has: "func langchaingoTools", run: inExamples(frameworks + "langchaingo_test.go"), elsewhere: true},
	{page: "docs/frameworks.md", language: "go", has: "type einoTool", run: inExamples(frameworks + "eino_test.go"), elsewhere: true},
	{page: "docs/frameworks.md", language: "go", has: "func genkitTools", run: inExamples(frameworks + "genkit_test.go"), elsewhere: true},
	{page: "docs/frameworks.md", language: "go", has: "func adkTool", run: inExamples(frameworks + "adk_test.go"), elsewhere: true},
	{page: "contrib/filetool/README.md", language: "console", has: "contrib/filetool", run: goGet},
	{page: "contrib/filetool/README.md", language: "go", has: "fileSet.FileTools()", run: inExamples("contrib/filetool/example_test.go"), elsewhere: true},
	{page: "contrib/procnats/README.md", language: "console", has: "contrib/procnats", run: goGet},
	{page: "contrib/shellfacts/README.md", language: "console", has: "contrib/shellfacts", run: goGet},
	{page: "contrib/examples/README.md", language: "console", has: "OPENAI_API_KEY=...", run: withCommands},
	{page: "contrib/examples/README.md", language: "console", has: "ANTHROPIC_API_KEY=...", run: withCommands},
}

// procotelRules has the rules for procotel's page. A test of procotel runs its program.
var procotelRules = []rule{
	{page: "contrib/procotel/README.md", language: "console", has: "toolproc/contrib/procotel", run: goGet},
	{page: "contrib/procotel/README.md", language: "go", has: "procotel.New(", run: func(t *testing.T, _ *pages, _ block) {
		require.Contains(t, read(t, "contrib/procotel/readme_test.go"), "pageProgram(t)")
	}, elsewhere: true},
}

// withCommands sets a variable that the test of the program sets too, and runs the program.
func withCommands(t *testing.T, _ *pages, b block) {
	typed := commands(t, b)
	require.Len(t, typed, 2)
	variable, _, ok := strings.Cut(strings.TrimPrefix(typed[0], "export "), "=")
	require.True(t, ok, typed[0])
	require.Contains(t, read(t, path.Join(path.Dir(b.page), "provider_test.go")), `"`+variable+`"`)
	words := strings.Fields(typed[1])
	require.Equal(t, []string{"go", "run"}, words[:2])
	require.NotEmpty(t, read(t, path.Join(path.Dir(b.page), words[2], "main.go")))
}
