package procview_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/contrib/procview"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// long is a wait that a test reaches only if something is wrong.
const long = time.Minute

const token = "a-token-for-tests"

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) {
	before := runtime.NumGoroutine()
	code := m.Run()
	http.DefaultClient.CloseIdleConnections()
	for deadline := time.Now().Add(10 * time.Second); code == 0 && runtime.NumGoroutine() > before+1; runtime.Gosched() {
		if time.Now().After(deadline) {
			fmt.Fprintln(os.Stderr, "goroutines were left behind:")
			pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
			code = 1
		}
	}
	os.Exit(code)
}

func newLocal(t testing.TB) *proclocal.Local {
	t.Helper()
	l, err := proclocal.New(&proclocal.Options{LogDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

// serve serves a view below /procs, as an application does.
func serve(t testing.TB, m procmgr.Manager, opts *procview.Options) (v *procview.View, base string) {
	t.Helper()
	v, err := procview.New(m, opts)
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("/procs/", http.StripPrefix("/procs", v))
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return v, server.URL + "/procs/"
}

// A call is a request of a test.
type call struct {
	method, path, body string
	header             map[string]string
	host               string
}

func (c call) do(ctx context.Context, t testing.TB, base string) *http.Response {
	t.Helper()
	if c.method == "" {
		c.method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(ctx, c.method, base+c.path, strings.NewReader(c.body))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	for name, value := range c.header {
		req.Header.Del(name)
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	req.Host = c.host
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	return res
}

func (c call) text(t testing.TB, base string) (int, string) {
	t.Helper()
	res := c.do(t.Context(), t, base)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(body)
}

func get[T any](t testing.TB, base, path string) (v T) {
	t.Helper()
	status, body := call{path: path}.text(t, base)
	require.Equal(t, http.StatusOK, status, body)
	require.NoError(t, json.Unmarshal([]byte(body), &v), body)
	return v
}

// A sent is an event of a stream.
type sent struct {
	name, id string
	data     json.RawMessage
}

// events yields the events of a stream until it ends.
func events(t testing.TB, body io.Reader, yield func(sent) bool) {
	t.Helper()
	var e sent
	lines := bufio.NewReaderSize(body, 1<<20)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimSuffix(line, "\n")
		switch name, value, _ := strings.Cut(line, ": "); {
		case line == "" && e.name != "":
			if !yield(e) {
				return
			}
			e = sent{}
		case name == "event":
			e.name = value
		case name == "id":
			e.id = value
		case name == "data":
			e.data = json.RawMessage(value)
		}
	}
}

// start starts a command of a chat.
func start(t testing.TB, h procmgr.Host, chat, command string) string {
	t.Helper()
	out, err := h.Chat(chat).Start(t.Context(), procmgr.StartRequest{Command: command})
	require.NoError(t, err)
	return out.Process.ID
}

// ended waits for the end of a process.
func ended(t testing.TB, m procmgr.Manager, id string) procmgr.Output {
	t.Helper()
	for {
		out, err := m.Output(t.Context(), id, procmgr.OutputRequest{Wait: long})
		require.NoError(t, err)
		if out.Process.State == procmgr.Exited {
			return out
		}
	}
}
