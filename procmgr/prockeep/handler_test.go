//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/prockeep"
)

// clientOf serves a handler on loopback, and returns a client of it.
func clientOf(t *testing.T, handler http.Handler) *prochttp.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c, err := prochttp.NewClient(server.URL, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// A start is cut, and asked for again through the handler of another program:
// its client meets the same server, and the command runs once.
func TestHandlerHasTheInstanceOfTheKeeper(t *testing.T) {
	dir := newDir(t)
	handlers := []http.Handler{open(t, dir, nil).Handler(), open(t, dir, nil).Handler()}
	var now, lost atomic.Int32
	m := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := handlers[now.Load()]
		if r.URL.Path != "/start" || lost.Add(1) > 1 {
			h.ServeHTTP(w, r)
			return
		}
		h.ServeHTTP(httptest.NewRecorder(), r) // the answer is lost
		now.Store(1)
		w.WriteHeader(http.StatusBadGateway)
	})).Chat("a")
	file := t.TempDir() + "/ran"
	req := procmgr.StartRequest{ID: "once", Command: "echo ran >> " + file + "; exit 7", Wait: long}
	for range 2 {
		out, err := m.Start(t.Context(), req)
		require.NoError(t, err)
		require.True(t, out.Attached)
		require.Equal(t, 7, *out.Process.ExitCode)
	}
	ran, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "ran\n", string(ran))
	require.EqualValues(t, 3, lost.Load())
}

// A command that a client starts has the environment and the directory of the
// program that has the handler, and not those of the keeper.
func TestHandlerHasTheEnvironmentOfItsProgram(t *testing.T) {
	k := open(t, newDir(t), nil) // its program had another environment
	t.Setenv("HANDLER_TEST", "ours")
	t.Setenv("HANDLER_TEST_TOKEN", "a secret")
	t.Setenv("HANDLER_TEST_LATIN1", "\xe9")
	dir := t.TempDir()
	t.Chdir(dir)
	out := run(t, clientOf(t, k.Handler()).Chat("a"), `echo "$HANDLER_TEST,$HANDLER_TEST_TOKEN,$HANDLER_TEST_LATIN1"; pwd; echo HANDLER_TEST_TOKEN; false`)
	require.Equal(t, "ours,,\n"+dir+"\nHANDLER_TEST_TOKEN\n", out.Text)
	require.Equal(t, dir, out.Process.WorkDir)
	require.Contains(t, out.Withheld, "HANDLER_TEST_TOKEN")
}

// A client cannot set what a command starts from, nor end the keeper.
func TestHandlerRefuses(t *testing.T) {
	dir := newDir(t)
	k := open(t, dir, nil)
	server := httptest.NewServer(k.Handler())
	defer server.Close()
	ask := func(method, path, body string) (status int, answer string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		res, err := server.Client().Do(req)
		require.NoError(t, err)
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NotEmpty(t, res.Header.Get("Toolproc-Instance"))
		return res.StatusCode, string(text)
	}
	for _, tt := range []struct {
		name, method, path, body, says string
		status                         int
	}{
		{"an environment", "POST", "/start", `{"command":"true","base_env":["A=1"],"base_dir":"/"}`, "is there twice", 400},
		{"a directory", "POST", "/start", ` { "base_dir" : "/", "command":"true"}`, "is there twice", 400},
		{"an environment alone", "POST", "/start", `{"command":"true","base_env":["A=1"]}`, "base_", 400},
		{"names alone", "POST", "/start", `{"command":"true","base_withheld":["A"]}`, "base_", 400},
		{"a sum", "POST", "/start", `{"command":"true","base_sum":"00"}`, "is there twice", 400},
		{"no command", "POST", "/start", `{ }`, "the command is empty", 400},
		{"nothing", "POST", "/start", ``, "is not the JSON object", 400},
		{"no object", "POST", "/start", `[]`, "is not the JSON object", 400},
		{"half of one", "POST", "/start", `{"command":"true"`, "is not the JSON object", 400},
		{"too much", "POST", "/start", `{"command":"` + strings.Repeat("x", 17<<20) + `"}`, "too large", 413},
		{"the end of the keeper", "DELETE", "/keeper", "", "no_endpoint", 404},
		{"the keeper's options", "GET", "/keeper", "", "no_endpoint", 404},
		{"the same in other words", "GET", "//./%6beeper", "", "no_endpoint", 404},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, answer := ask(tt.method, tt.path, tt.body)
			require.Equal(t, tt.status, status, answer)
			require.Contains(t, answer, tt.says)
		})
	}
	page, err := k.List(t.Context(), procmgr.ListRequest{})
	all := page.Processes
	require.NoError(t, err)
	require.Empty(t, all)
}

// If the keeper ends, the next request meets another one, and the client learns
// that.
func TestHandlerMeetsAnotherKeeper(t *testing.T) {
	dir := newDir(t)
	k := open(t, dir, nil)
	m := clientOf(t, k.Handler()).Chat("a")
	first := begin(t, m, "first", "echo ready; exec sleep 1000").Process
	require.NoError(t, open(t, dir, &prockeep.Options{Idle: lifetime}).Stop(context.Background()))
	for range 2 {
		require.Equal(t, "hello\n", run(t, m, "echo hello").Text)
	}
	_, err := m.Output(t.Context(), first.ID, procmgr.OutputRequest{})
	require.ErrorIs(t, err, procmgr.ErrUnknown)
	require.ErrorIs(t, err, procmgr.ErrNotFound)
	_, err = m.Start(t.Context(), procmgr.StartRequest{ID: first.ID, Command: "echo ready; exec sleep 1000"})
	require.ErrorIs(t, err, procmgr.ErrUnknown)
}
