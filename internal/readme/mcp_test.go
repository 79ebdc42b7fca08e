//go:build unix

package readme_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	mcpPage = "contrib/mcp/README.md"

	buildBlock      = "go build -o toolproc-mcp"
	httpServerBlock = "./toolproc-mcp -http"
)

// The tests do not run the clients: their lines were tried by hand, in the
// versions that the page names. The tests start the servers that the lines start.
var mcpRules = []rule{
	{page: mcpPage, language: "console", has: buildBlock, run: buildServer},
	{page: mcpPage, language: "console", has: "claude mcp add toolproc -- ", run: addStdio},
	{page: mcpPage, language: "json", has: `"deny": ["Bash"]`, run: settings},
	{page: mcpPage, language: "json", has: `"command": "/path/to/toolproc-mcp"`, run: stdioConfig},
	{page: mcpPage, language: "console", has: httpServerBlock, run: httpServer},
	{page: mcpPage, language: "json", has: `"type": "http"`, run: httpConfig},
}

// mcpServer builds the server by the page's commands, once. It only changes the
// place of the file that they write.
func mcpServer(t *testing.T, p *pages) string {
	t.Helper()
	if p.programs[buildBlock] == "" {
		name := filepath.Join(filepath.Dir(p.programs[agentBlock]), "toolproc-mcp")
		script := strings.Join(commands(t, p.blocks[buildBlock]), " && ")
		shell(t, root, strings.Replace(script, "-o toolproc-mcp", "-o '"+name+"'", 1))
		p.programs[buildBlock] = name
	}
	return p.programs[buildBlock]
}

func buildServer(t *testing.T, p *pages, _ block) {
	require.FileExists(t, mcpServer(t, p))
}

// words takes a command apart as a shell does.
func words(t *testing.T, command string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `for word in `+command+`; do printf '%s\n' "$word"; done`).Output()
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// addStdio starts the server that a client is told to start.
func addStdio(t *testing.T, p *pages, b block) {
	for _, command := range commands(t, b) {
		_, server, found := strings.Cut(command, " -- ")
		if !found {
			require.Regexp(t, `^claude mcp list$`, command)
			continue
		}
		requireStarts(t, p, words(t, server))
	}
}

// settings checks that Claude Code's file is JSON.
func settings(t *testing.T, _ *pages, b block) {
	var file struct {
		Permissions struct{ Deny []string }
	}
	strict(t, b.text, &file)
	require.Equal(t, []string{"Bash"}, file.Permissions.Deny)
}

// A configuration has the form that many clients take.
type configuration struct {
	Servers map[string]struct {
		Type    string
		Command string
		Args    []string
		Env     map[string]string
		URL     string
		Headers map[string]string
	} `json:"mcpServers"`
}

func stdioConfig(t *testing.T, p *pages, b block) {
	var c configuration
	strict(t, b.text, &c)
	server := c.Servers["toolproc"]
	requireStarts(t, p, append([]string{server.Command}, server.Args...))
}

// strict decodes JSON that must have no other members.
func strict(t *testing.T, text string, v any) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(v))
}

// requireStarts starts a server as a client is told to, with the paths of the page
// replaced, and ends it by the end of its stdin. The tests of its module talk to it.
func requireStarts(t *testing.T, p *pages, command []string) {
	t.Helper()
	require.Equal(t, "/path/to/toolproc-mcp", command[0])
	out, err := exec.CommandContext(t.Context(), mcpServer(t, p), placed(t, command)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// placed returns the arguments of a command of the page, with a directory and a port that
// are free.
func placed(t *testing.T, command []string) (args []string) {
	t.Helper()
	for _, arg := range command[1:] {
		switch arg {
		case ":8080":
			arg = ":0"
		case "/path/to/project":
			arg = t.TempDir()
		}
		args = append(args, arg)
	}
	return args
}

var printed = regexp.MustCompile(`\Amcp: Authorization: Bearer (\w+)\nmcp: listening on (http://127\.0\.0\.1:\d+/mcp)\n\z`)

// httpServer runs the page's command, and compares its output with the page.
func httpServer(t *testing.T, p *pages, b block) {
	command := commands(t, b)
	require.Len(t, command, 1)
	_, shown, _ := strings.Cut(b.text, "\n")
	require.Regexp(t, printed, shown)
	server := start(t, t.TempDir(), nil, mcpServer(t, p), placed(t, words(t, command[0]))...)
	awaitOutput(t, server, "/mcp\n")
	require.Regexp(t, printed, server.err.String())
	require.NoError(t, server.Process.Signal(syscall.SIGTERM))
	require.Zero(t, server.end(t), &server.err)
}

// httpConfig has the URL and the token that the page's server prints.
func httpConfig(t *testing.T, p *pages, b block) {
	var c configuration
	strict(t, b.text, &c)
	server := c.Servers["toolproc"]
	require.Equal(t, "http", server.Type)
	shown := p.blocks[httpServerBlock].text
	require.Contains(t, shown, "listening on "+server.URL+"\n")
	require.Contains(t, shown, "Authorization: "+server.Headers["Authorization"]+"\n")
}
