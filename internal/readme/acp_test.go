//go:build unix

package readme_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	acpPage  = "contrib/acp/README.md"
	acpBlock = "go build -o toolproc-acp"
)

// The tests run no editor.
var acpRules = []rule{
	{page: acpPage, language: "console", has: acpBlock, run: func(t *testing.T, p *pages, _ block) { require.FileExists(t, acpAgent(t, p)) }},
	{page: acpPage, language: "json", has: `"agent_servers"`, run: agentServers},
}

// acpAgent builds the agent by the page's commands, once. It only changes the place of
// the file that they write.
func acpAgent(t *testing.T, p *pages) string {
	t.Helper()
	if p.programs[acpBlock] == "" {
		name := filepath.Join(filepath.Dir(p.programs[agentBlock]), "toolproc-acp")
		script := strings.Join(commands(t, p.blocks[acpBlock]), " && ")
		shell(t, root, strings.Replace(script, "-o toolproc-acp", "-o '"+name+"'", 1))
		p.programs[acpBlock] = name
	}
	return p.programs[acpBlock]
}

// agentServers starts the agent as the settings say. The settings have exactly the variables that the program reads, with its defaults.
func agentServers(t *testing.T, p *pages, b block) {
	var settings struct {
		Servers map[string]struct {
			Type, Command string
			Args          []string
			Env           map[string]string
		} `json:"agent_servers"`
	}
	strict(t, b.text, &settings)
	server := settings.Servers["toolproc"]
	require.Equal(t, "custom", server.Type)
	require.Equal(t, "/path/to/toolproc-acp", server.Command)
	require.Equal(t, []string{"MODEL", "OPENAI_API_KEY", "OPENAI_BASE_URL"}, slices.Sorted(maps.Keys(server.Env)))
	program := read(t, "contrib/acp/main.go")
	for name, value := range server.Env {
		require.Contains(t, program, `os.Getenv("`+name+`")`)
		if name != "OPENAI_API_KEY" {
			require.Contains(t, program, `"`+value+`"`, "the default of %s", name)
		}
	}

	cmd := exec.CommandContext(t.Context(), acpAgent(t, p), server.Args...)
	cmd.Env = os.Environ()
	for name, value := range server.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.CombinedOutput() // its stdin is at the end; the tests of its module talk to it
	require.NoError(t, err, "%s", out)
}
