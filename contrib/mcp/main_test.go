package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prockeep"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

const (
	// long is a wait that ends earlier, unless something is wrong.
	long = 30 * time.Second
	// programName is the name under which the test binary plays the program.
	programName = "toolproc-mcp"
	testToken   = "a-token-for-tests-alone"
)

// TestMain lets the test binary play the program, if a test starts it as such.
// It fails the run if a process is left behind.
func TestMain(m *testing.M) {
	prockeep.Main() // for -keep
	if filepath.Base(os.Args[0]) == programName {
		main()
		os.Exit(0)
	}
	_ = os.Setenv("MCP_TESTS", strconv.Itoa(os.Getpid())) // every process of the run inherits it
	code := m.Run()
	if left := leftBehind("MCP_TESTS=" + os.Getenv("MCP_TESTS")); len(left) > 0 {
		fmt.Fprintln(os.Stderr, "left behind by the tests:", left)
		code = 1
	}
	os.Exit(code)
}

// leftBehind returns the processes that have an environment variable, if the
// system shows them. It gives processes that are ending a moment to end.
func leftBehind(variable string) (pids []string) {
	for began := time.Now(); time.Since(began) < 10*time.Second; time.Sleep(10 * time.Millisecond) {
		pids = nil
		files, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, file := range files {
			// This process is not among them: /proc shows the environment of
			// its start.
			environ, _ := os.ReadFile(file)
			if slices.Contains(strings.Split(string(environ), "\x00"), variable) {
				pids = append(pids, filepath.Base(filepath.Dir(file)))
			}
		}
		if pids == nil {
			break
		}
	}
	return pids
}

// newLocal returns a manager that the test closes, and the directory in which
// it runs commands.
func newLocal(t *testing.T) (local *proclocal.Local, dir string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the commands are a POSIX shell's")
	}
	dir = t.TempDir()
	local, err := proclocal.New(&proclocal.Options{WorkDir: dir, StopGrace: stopGrace})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, local.Close()) })
	return local, dir
}

// quiet drops the log lines of errors that a test expects.
var quiet = slog.New(slog.DiscardHandler)

// A client is an MCP client that keeps the progress notifications that it gets.
type client struct {
	*mcp.ClientSession
	transport mcp.Transport

	mu       sync.Mutex // guards progress
	progress []progress
}

type progress struct {
	mcp.ProgressNotificationParams
	at time.Time
}

func (c *client) told() []progress {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]progress(nil), c.progress...)
}

// connect returns a client that the test closes. opts may be nil.
func connect(t *testing.T, transport mcp.Transport, opts *mcp.ClientOptions) *client {
	t.Helper()
	c := &client{transport: transport}
	if opts == nil {
		opts = &mcp.ClientOptions{}
	}
	opts.Logger = quiet
	opts.ProgressNotificationHandler = func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.progress = append(c.progress, progress{*req.Params, time.Now()})
	}
	m := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opts)
	var err error
	c.ClientSession, err = m.Connect(t.Context(), transport, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() }) // it may be closed already
	return c
}

// newServer returns a server that logs nothing. approve may be nil.
func newServer(t *testing.T, host procmgr.Host, approve func(context.Context, toolset.Question) (toolset.Verdict, error)) *server {
	t.Helper()
	s, err := newServerWith(host, httpChat, toolset.Options{MaxTimeout: maxWait, Approve: approve}, quiet)
	require.NoError(t, err)
	return s
}

// serve returns a client over HTTP of a server in this process, which runs commands in dir.
func serve(t *testing.T) (c *client, local *proclocal.Local, dir string) {
	t.Helper()
	t.Parallel()
	local, dir = newLocal(t)
	return overHTTP(t, listen(t, newServer(t, local, nil), 0).URL, testToken), local, dir
}

// listen serves s over HTTP until the test ends.
func listen(t *testing.T, s *server, idle time.Duration) *httptest.Server {
	t.Helper()
	web := httptest.NewServer(newHandler(s, "127.0.0.1", testToken, idle))
	t.Cleanup(web.Close)
	web.URL += "/mcp"
	return web
}

// dialHTTP connects over streamable HTTP.
func dialHTTP(t *testing.T, url, token string) mcp.Transport {
	t.Helper()
	via := &http.Transport{}
	t.Cleanup(via.CloseIdleConnections)
	return &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer{token, via}}}
}

func overHTTP(t *testing.T, url, token string) *client {
	t.Helper()
	return connect(t, dialHTTP(t, url, token), nil)
}

// leave ends the session on the side of the client. Unlike Close, it does not wait for
// the calls.
func (c *client) leave(t *testing.T) {
	t.Helper()
	over := c.transport.(*mcp.StreamableClientTransport)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, over.Endpoint, nil)
	require.NoError(t, err)
	req.Header.Set("Mcp-Session-Id", c.ID())
	res, err := over.HTTPClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusNoContent, res.StatusCode)
}

// bearer adds a token to each request.
type bearer struct {
	token string
	via   http.RoundTripper
}

func (b bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+b.token)
	return b.via.RoundTrip(req)
}

// A result holds the fields of a tool's result that the tests look at.
type result struct {
	Success   bool   `json:"success"`
	Output    string `json:"output"`
	ExitCode  *int   `json:"exit_code"`
	State     string `json:"state"`
	Error     string `json:"error"`
	ID        string `json:"process_id"`
	LogPath   string `json:"log_path"`
	Processes []struct {
		ID    string `json:"process_id"`
		State string `json:"state"`
	} `json:"processes"`
}

// args are the arguments of a call.
type args map[string]any

// call calls a tool. The result must have one text that is a JSON object.
func (c *client) call(t *testing.T, name string, arguments any) (res result, isError bool) {
	t.Helper()
	answer, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	require.NoError(t, err)
	return read(t, answer)
}

func read(t *testing.T, answer *mcp.CallToolResult) (res result, isError bool) {
	t.Helper()
	require.Len(t, answer.Content, 1)
	text, ok := answer.Content[0].(*mcp.TextContent)
	require.True(t, ok)
	require.NoError(t, json.Unmarshal([]byte(text.Text), &res))
	return res, answer.IsError
}

// waitForEnd waits until no process of a manager lives, and returns all of
// them.
func waitForEnd(t *testing.T, m procmgr.Manager) []procmgr.Process {
	t.Helper()
	var all []procmgr.Process
	require.Eventually(t, func() bool {
		var err error
		page, err := m.List(t.Context(), procmgr.ListRequest{})
		all = page.Processes
		for _, p := range all {
			if p.State != procmgr.Exited {
				return false
			}
		}
		return err == nil
	}, long, 5*time.Millisecond)
	return all
}

// waitForFile waits until a file is there.
func waitForFile(t *testing.T, name string) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := os.Stat(name)
		return err == nil
	}, long, 5*time.Millisecond, name)
}
