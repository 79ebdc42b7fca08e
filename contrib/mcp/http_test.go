package main

import (
	"cmp"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
)

const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	execute    = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute","arguments":{"command":"touch one"}}}`
	// stateless is a call in the version of the protocol that has no sessions.
	stateless = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute","arguments":{"command":"touch one"},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
)

// ask sends a request, which change may change, and reads the answer.
func ask(t *testing.T, method, url, body string, change func(*http.Request)) (status int, header http.Header, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+testToken)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if change != nil {
		change(req)
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	return res.StatusCode, res.Header, string(text)
}

// A client without a token, a web page, or a client without a session can do
// nothing.
func TestRefused(t *testing.T) {
	t.Parallel()
	local, dir := newLocal(t)
	url := listen(t, newServer(t, local, nil), 0).URL
	for _, test := range []struct {
		name   string
		change func(*http.Request)
		method string
		body   string
		status int
	}{
		{name: "let in", body: initialize, status: http.StatusOK},
		{name: "no token", change: func(r *http.Request) { r.Header.Del("Authorization") }, body: initialize, status: http.StatusUnauthorized},
		{name: "another token", change: func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+testToken+"r") }, body: initialize, status: http.StatusUnauthorized},
		{name: "a token in the URL", change: func(r *http.Request) {
			r.Header.Del("Authorization")
			r.URL.RawQuery = "access_token=" + testToken
		}, body: initialize, status: http.StatusUnauthorized},
		{name: "a web page", change: func(r *http.Request) { r.Header.Set("Origin", "https://example.com") }, body: initialize, status: http.StatusForbidden},
		{name: "a web page of this machine", change: func(r *http.Request) { r.Header.Set("Origin", "http://localhost:3000") }, body: initialize, status: http.StatusForbidden},
		{name: "a link", change: func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "none") }, method: http.MethodGet, status: http.StatusForbidden},
		{name: "a preflight", change: func(r *http.Request) {
			r.Header.Del("Authorization")
			r.Header.Set("Origin", "https://example.com")
			r.Header.Set("Access-Control-Request-Method", "POST")
		}, method: http.MethodOptions, status: http.StatusForbidden},
		{name: "a rebound name", change: func(r *http.Request) { r.Host = "example.com:8080" }, body: initialize, status: http.StatusForbidden},
		{name: "no such session", change: func(r *http.Request) { r.Header.Set("Mcp-Session-Id", "guessed") }, body: execute, status: http.StatusNotFound},
		{name: "the protocol without sessions", change: func(r *http.Request) { r.Header.Set("Mcp-Protocol-Version", "2026-07-28") }, body: stateless, status: http.StatusBadRequest},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, header, body := ask(t, cmp.Or(test.method, http.MethodPost), url, test.body, func(r *http.Request) {
				if test.change != nil {
					test.change(r)
				}
			})
			require.Equal(t, test.status, status, "%s", body)
			for name := range header {
				require.False(t, strings.HasPrefix(name, "Access-Control-"), name)
			}
			if id := header.Get("Mcp-Session-Id"); id != "" {
				require.Equal(t, http.StatusOK, status)
				require.GreaterOrEqual(t, len(id), 26, "128 random bits")
			}
		})
	}

	// This call comes before the initialize of the session.
	_, _, body := ask(t, http.MethodPost, url, execute, nil)
	require.Contains(t, body, "invalid during session initialization")

	require.NoFileExists(t, filepath.Join(dir, "one"))
	page, err := local.List(t.Context(), procmgr.ListRequest{})
	all := page.Processes
	require.NoError(t, err)
	require.Empty(t, all)
}

// A server that listens on a named host also accepts requests under that name.
func TestOwnAddress(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		own, host string
		status    int
	}{
		{"127.0.0.1", "localhost:8080", http.StatusOK},
		{"127.0.0.1", "[::1]:8080", http.StatusOK},
		{"127.0.0.1", "localhost.example.com", http.StatusForbidden},
		{"127.0.0.1", "192.0.2.1", http.StatusForbidden},
		{"192.0.2.1", "192.0.2.1:8080", http.StatusOK},
		{"192.0.2.1", "localhost:8080", http.StatusOK},
		{"192.0.2.1", "192.0.2.2:8080", http.StatusForbidden},
		{"build.example", "build.example:8080", http.StatusOK},
		{"2001:db8::1", "[2001:db8::1]:8080", http.StatusOK},
		{"127.0.0.1", "", http.StatusForbidden},
	} {
		ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
		w := httptest.NewRecorder()
		refuseBrowsers(test.own, ok).ServeHTTP(w, &http.Request{Host: test.host})
		require.Equal(t, test.status, w.Code, "%s at %s", test.host, test.own)
	}
}

// If a connection breaks while a call waits, the command and its result are not
// lost, and nothing runs twice.
func TestConnectionLost(t *testing.T) {
	t.Parallel()
	local, dir := newLocal(t)
	web := listen(t, newServer(t, local, nil), 0)
	c := overHTTP(t, web.URL, testToken)
	answered := make(chan *mcp.CallToolResult, 1)
	go func() { // received below
		answer, _ := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute", Arguments: args{
			"command": "echo begun; echo ran >> runs; while [ ! -e go ]; do sleep 0.05; done; echo done",
			"timeout": "1m",
		}})
		answered <- answer
	}()
	waitForFile(t, filepath.Join(dir, "runs"))
	web.CloseClientConnections()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	answer := <-answered
	require.NotNil(t, answer)
	res, isError := read(t, answer)
	require.False(t, isError)
	require.True(t, res.Success)
	require.Equal(t, "begun\ndone\n", res.Output)
	runs, err := os.ReadFile(filepath.Join(dir, "runs"))
	require.NoError(t, err)
	require.Equal(t, "ran\n", string(runs))
}

func TestToken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(content string, mode os.FileMode) string {
		name := filepath.Join(dir, "token")
		require.NoError(t, os.RemoveAll(name))
		require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
		require.NoError(t, os.Chmod(name, mode))
		return name
	}
	token, err := tokenFrom(write(testToken+"\n", 0o600))
	require.NoError(t, err)
	require.Equal(t, testToken, token)
	_, err = tokenFrom(write(testToken, 0o640))
	require.ErrorContains(t, err, "others can read or write")
	_, err = tokenFrom(write("short\n", 0o600))
	require.ErrorContains(t, err, "too short")
	_, err = tokenFrom(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
