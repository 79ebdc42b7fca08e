//go:build unix

package readme_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
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
// versions that the page names. The tests send requests of their own to the
// servers that the lines start or connect to.
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
		requireServes(t, p, words(t, server))
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
	requireServes(t, p, append([]string{server.Command}, server.Args...))
}

// strict decodes JSON that must have no other members.
func strict(t *testing.T, text string, v any) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(v))
}

const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"reader","version":"1"}}}`
	initiated  = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	pwd        = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute","arguments":{"command":"pwd"}}}`
)

// requireServes starts a server over stdio, as a client does, and runs a
// command on it. It replaces the paths of the page.
func requireServes(t *testing.T, p *pages, command []string) {
	t.Helper()
	require.Equal(t, "/path/to/toolproc-mcp", command[0])
	dir, project := t.TempDir(), t.TempDir()
	where := dir // where it is started
	var args []string
	for _, arg := range command[1:] {
		if arg == "/path/to/project" {
			arg, where = project, project
		}
		args = append(args, arg)
	}
	cmd := exec.CommandContext(t.Context(), mcpServer(t, p), args...)
	cmd.Dir = dir
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = io.WriteString(in, strings.Join([]string{initialize, initiated, pwd}, "\n")+"\n")
	require.NoError(t, err)
	said := ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said += lines.Text() + "\n"
		if strings.Contains(lines.Text(), `"id":2`) {
			break
		}
	}
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait())
	require.Contains(t, said, fmt.Sprintf(`\"output\":\"%s\\n\"`, where))
}

// A served is the server over HTTP. Its addresses and its token differ from the
// page's.
type served struct {
	*program
	project, url, token string
}

var printed = regexp.MustCompile(`\Amcp: Authorization: Bearer (\w+)\nmcp: listening on (http://127\.0\.0\.1:\d+/mcp)\n\z`)

// serveHTTP runs the page's command, and compares its output with the page.
func serveHTTP(t *testing.T, p *pages) served {
	t.Helper()
	b := p.blocks[httpServerBlock]
	command := commands(t, b)
	require.Len(t, command, 1)
	_, shown, _ := strings.Cut(b.text, "\n")
	require.Regexp(t, printed, shown)

	s := served{project: t.TempDir()}
	var args []string
	for _, arg := range words(t, command[0])[1:] {
		switch arg {
		case ":8080":
			arg = ":0"
		case "/path/to/project":
			arg = s.project
		}
		args = append(args, arg)
	}
	s.program = start(t, t.TempDir(), nil, mcpServer(t, p), args...)
	awaitOutput(t, s.program, "/mcp\n")
	found := printed.FindStringSubmatch(s.err.String())
	require.NotNil(t, found, &s.err)
	s.token, s.url = found[1], found[2]
	return s
}

// stop ends the server.
func (s served) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, s.Process.Signal(syscall.SIGTERM))
	require.Zero(t, s.program.end(t), &s.err)
}

// requireConnects connects to the server with the URL and the header of a page.
func (s served) requireConnects(t *testing.T, p *pages, url, header string) {
	t.Helper()
	shown := p.blocks[httpServerBlock].text
	require.Contains(t, shown, "listening on "+url+"\n", "the page has another URL elsewhere")
	require.Contains(t, shown, header+"\n", "the page has another token elsewhere")
	session := ""
	for _, body := range []string{initialize, initiated, pwd} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+s.token)
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Content-Type", "application/json")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		answer, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Less(t, res.StatusCode, 300, "%s", answer)
		session = cmp.Or(session, res.Header.Get("Mcp-Session-Id"))
		if body == pwd {
			require.Contains(t, string(answer), s.project)
		}
	}
}

func httpServer(t *testing.T, p *pages, _ block) { serveHTTP(t, p).stop(t) }

func httpConfig(t *testing.T, p *pages, b block) {
	var c configuration
	strict(t, b.text, &c)
	server := c.Servers["toolproc"]
	require.Equal(t, "http", server.Type)
	s := serveHTTP(t, p)
	s.requireConnects(t, p, server.URL, "Authorization: "+server.Headers["Authorization"])
	s.stop(t)
}
