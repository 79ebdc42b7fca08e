package prochttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// NewHandler fails unless the options say clearly who may call the handler.
func TestClosedByDefault(t *testing.T) {
	authorize := func(*http.Request) (prochttp.Scope, error) { return prochttp.Scope{}, nil }
	for name, opts := range map[string]*prochttp.HandlerOptions{
		"nil":                            nil,
		"nothing set":                    {},
		"two ways":                       {Token: "t", Authorize: authorize},
		"also insecure":                  {Token: "t", Insecure: true},
		"a token that no header carries": {Token: "a b"},
		"a token with a line end":        {Token: "a\n"},
	} {
		_, err := prochttp.NewHandler(newLocal(t, nil), opts)
		require.ErrorIs(t, err, procmgr.ErrInvalid, name)
		require.ErrorContains(t, err, "prochttp: new handler: ", name)
	}
}

// request makes a request that a handler with the token accepts.
func request(path, body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Host = "127.0.0.1:8080"
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Toolproc-Chat-Id", "a")
	r.Header.Set("Content-Type", "application/json")
	return r
}

// ask serves a request and returns the status and the code of the answer.
func ask(t testing.TB, h http.Handler, r *http.Request) (status int, code string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	require.NotEmpty(t, w.Header().Get("Toolproc-Instance"))
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	var body struct{ Detail, Code string }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body), w.Body.String())
	require.NotContains(t, w.Body.String(), token)
	require.Equal(t, w.Code != http.StatusOK, body.Code != "" && body.Detail != "", w.Body.String())
	return w.Code, body.Code
}

// endpoints has one request for each endpoint.
var endpoints = []struct{ path, body string }{
	{"/start", `{"command":"true"}`},
	{"/list", `{}`},
	{"/events", `{}`},
	{"/describe", `{}`},
	{"/output", `{"id":"x"}`},
	{"/input", `{"id":"x"}`},
	{"/signal", `{"id":"x","signal":"kill"}`},
}

// A request that must not be served does not reach the host, at any endpoint.
func TestRefused(t *testing.T) {
	h := newHandler(t, panics{}, nil) // a call of the host would be a status of 500
	set := func(name string, values ...string) func(*http.Request) {
		return func(r *http.Request) { r.Header[name] = values }
	}
	for _, test := range []struct {
		name   string
		change func(*http.Request)
		status int
		code   string
	}{
		{"no credentials", func(r *http.Request) { r.Header.Del("Authorization") }, 401, "unauthorized"},
		{"a wrong token", set("Authorization", "Bearer wrong"), 401, "unauthorized"},
		{"a longer token", set("Authorization", "Bearer "+token+"x"), 401, "unauthorized"},
		{"an empty token", set("Authorization", "Bearer "), 401, "unauthorized"},
		{"another scheme", set("Authorization", "Basic "+token), 401, "unauthorized"},
		{"two tokens", set("Authorization", "Bearer "+token, "Bearer "+token), 401, "unauthorized"},
		{"a page of another site", set("Origin", "https://evil.example"), 403, "forbidden"},
		{"a page without an origin", set("Origin", "null"), 403, "forbidden"},
		{"a browser of the same site", set("Sec-Fetch-Site", "same-origin"), 403, "forbidden"},
		{"a name that points here", func(r *http.Request) { r.Host = "evil.example" }, 403, "forbidden"},
		{"such a name with a port", func(r *http.Request) { r.Host = "evil.example:8080" }, 403, "forbidden"},
		{"a name that looks local", func(r *http.Request) { r.Host = "localhost.evil.example" }, 403, "forbidden"},
		{"no host", func(r *http.Request) { r.Host = "" }, 403, "forbidden"},
		{"an empty chat", set("Toolproc-Chat-Id", ""), 400, "invalid"},
		{"two chats", set("Toolproc-Chat-Id", "a", "b"), 400, "invalid"},
		{"two chats that a proxy joined", set("Toolproc-Chat-Id", "a, b"), 400, "invalid"},
		{"a chat of control characters", set("Toolproc-Chat-Id", "a%00"), 400, "invalid"},
		{"a chat that is no UTF-8", set("Toolproc-Chat-Id", "%FF"), 400, "invalid"},
		{"a chat that is not encoded", set("Toolproc-Chat-Id", "\xc3\xa4"), 400, "invalid"},
		{"a chat with a stray percent", set("Toolproc-Chat-Id", "50%"), 400, "invalid"},
		{"a long chat", set("Toolproc-Chat-Id", strings.Repeat("x", 257)), 400, "invalid"},
	} {
		for _, e := range endpoints {
			r := request(e.path, e.body)
			test.change(r)
			status, code := ask(t, h, r)
			require.Equal(t, test.status, status, "%s: %s", test.name, e.path)
			require.Equal(t, test.code, code, "%s: %s", test.name, e.path)
		}
	}
	for _, e := range endpoints {
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodHead, http.MethodOptions} {
			w := httptest.NewRecorder()
			r := request(e.path, e.body)
			r.Method = method
			h.ServeHTTP(w, r)
			require.Equal(t, http.StatusMethodNotAllowed, w.Code)
			require.Equal(t, http.MethodPost, w.Header().Get("Allow"))
		}
	}
	for _, path := range []string{"/", "/x", "/x/output", "/start/", "//start", "/./start", "/x/../start"} {
		r := request("/", "")
		r.URL.Path, r.URL.RawPath = path, path
		status, code := ask(t, h, r)
		require.Equal(t, http.StatusNotFound, status, path)
		require.Equal(t, "no_endpoint", code, path)
	}
}

// A body is JSON of the right form, or nothing happens.
func TestRefusedBodies(t *testing.T) {
	local := newLocal(t, nil)
	h := newHandler(t, local, &prochttp.HandlerOptions{Token: token, MaxBody: 10_000})
	for _, test := range []struct {
		name, media, body string
		status            int
		code              string
	}{
		{"a form", "application/x-www-form-urlencoded", `{"command":"true"}`, 415, "media_type"},
		{"text, which a page may send unasked", "text/plain", `{"command":"true"}`, 415, "media_type"},
		{"not JSON", "application/json", `command=true`, 400, "invalid"},
		{"nothing", "application/json", ``, 400, "invalid"},
		{"an array", "application/json", `[]`, 400, "invalid"},
		{"half of it", "application/json", `{"command":"true"`, 400, "invalid"},
		{"two of them", "application/json", `{"command":"true"}{}`, 400, "invalid"},
		{"something after it", "application/json", `{"command":"true"}}`, 400, "invalid"},
		{"a misspelled field", "application/json", `{"command":"true","workdir":"/"}`, 400, "invalid"},
		{"a wait that is a number", "application/json", `{"command":"true","wait":10}`, 400, "invalid"},
		{"a field in other letters", "application/json", `{"Command":"true"}`, 400, "invalid"},
		{"a field twice", "application/json", `{"command":"true","command":"false"}`, 400, "invalid"},
		{"no Unicode", "application/json", "{\"command\":\"echo \xff\"}", 400, "invalid"},
		{"half of a surrogate pair", "application/json", `{"command":"echo \udc80"}`, 400, "invalid"},
		{"two first halves", "application/json", `{"command":"echo \ud83d\ud83d"}`, 400, "invalid"},
		{"null", "application/json", `null`, 400, "invalid"},
		{"too long", "application/json", `{"command":"` + strings.Repeat("x", 10_000) + `"}`, 413, "too_large"},
		{"a variable twice", "application/json", `{"command":"true","env":{"A":"1","A":"2"}}`, 400, "invalid"},
		{"a variable that is null", "application/json", `{"command":"true","env":{"A":null}}`, 400, "invalid"},
		{"a limit twice", "application/json", `{"command":"true","limit":{"bytes":1,"bytes":2}}`, 400, "invalid"},
		{"a limit in other letters", "application/json", `{"command":"true","limit":{"Bytes":1}}`, 400, "invalid"},
		{"deep", "application/json", strings.Repeat(`{"env":`, 1000), 400, "invalid"},
	} {
		r := request("/start", test.body)
		r.Header.Set("Content-Type", test.media)
		status, code := ask(t, h, r)
		require.Equal(t, test.status, status, test.name)
		require.Equal(t, test.code, code, test.name)

		r = request("/start", test.body)
		r.Header.Set("Content-Type", test.media)
		r.ContentLength = -1 // chunked: the request does not give its length
		status, _ = ask(t, h, r)
		require.Equal(t, test.status, status, test.name)
	}
	for _, field := range []string{`"wait":"10"`, `"wait":"soon"`, `"from":"x"`, `"form":1`, `"from":1,"from":2`, `"limit":{"bytes":"much"}`, `"wait_id":"\u0000"`, `"wait_id":"` + strings.Repeat("x", 65) + `"`} {
		status, code := ask(t, h, request("/output", `{"id":"x",`+field+`}`))
		require.Equal(t, 400, status, field)
		require.Equal(t, "invalid", code, field)
	}
	r := request("/signal", `{"id":"x","signal":"kill"}`)
	r.Header.Set("Idempotency-Key", strings.Repeat("x", 65))
	status, _ := ask(t, h, r)
	require.Equal(t, 400, status)
	require.Empty(t, list(t, local), "nothing was started")
}

// A text that only looks like half a character is accepted, and a negative wait is none.
func TestAcceptedBodies(t *testing.T) {
	h := newHandler(t, newLocal(t, nil), nil)
	status, _ := ask(t, h, request("/start", `{"command":"exec sleep 1000","wait":"-1h","age":"-1s"}`))
	require.Equal(t, http.StatusOK, status)
	for _, command := range []string{`true # \\udc80`, `true # \ud83d\ude00`, `true # \u00e4\n`, `true # \\\\ud83d`, `true # \"\u005c`} {
		status, _ := ask(t, h, request("/start", `{"command":"`+command+`","wait":"30s"}`))
		require.Equal(t, http.StatusOK, status, command)
	}
}

// The options give the names of a machine; addresses need no option.
func TestHosts(t *testing.T) {
	h := newHandler(t, newLocal(t, nil), &prochttp.HandlerOptions{Token: token, Hosts: []string{"build.example"}})
	for host, want := range map[string]int{
		"localhost": 200, "LOCALHOST:80": 200, "127.0.0.1": 200, "127.0.0.1:80": 200, "[::1]:80": 200, "[::1]": 200, "10.0.0.1:80": 200,
		"build.example": 200, "Build.Example:8443": 200,
		"example": 403, "sub.build.example": 403, "build.example.evil": 403,
	} {
		r := request("/list", "{}")
		r.Host = host
		status, _ := ask(t, h, r)
		require.Equal(t, want, status, host)
	}
}

// A scope binds a caller to its chats, at every endpoint. It allows nothing that
// it does not name.
func TestScope(t *testing.T) {
	h := newHandler(t, newLocal(t, nil), &prochttp.HandlerOptions{Authorize: func(r *http.Request) (prochttp.Scope, error) {
		switch r.Header.Get("X-User") {
		case "alice":
			return prochttp.Scope{Chats: func(id string) bool { return id == "a" }}, nil
		case "root":
			return prochttp.Scope{Host: true}, nil
		case "nobody":
			return prochttp.Scope{}, nil
		}
		return prochttp.Scope{Host: true}, errors.New("who are you? not root:hunter2")
	}})
	for _, e := range endpoints {
		do := func(user, chat string) int {
			r := request(e.path, e.body)
			r.Header.Set("X-User", user)
			r.Header.Del("Toolproc-Chat-Id")
			if chat != "" {
				r.Header.Set("Toolproc-Chat-Id", chat)
			}
			status, _ := ask(t, h, r)
			return status
		}
		require.NotContains(t, []int{401, 403}, do("alice", "a"), e.path)
		require.Equal(t, 403, do("alice", "b"), e.path)
		require.Equal(t, 403, do("alice", "A"), e.path)
		require.Equal(t, 403, do("alice", "%61%00"[:3]+"b"), e.path)
		require.Equal(t, 403, do("alice", ""), e.path)
		require.NotContains(t, []int{401, 403}, do("root", ""), e.path)
		require.Equal(t, 403, do("root", "a"), e.path)
		require.Equal(t, 403, do("nobody", ""), e.path)
		require.Equal(t, 403, do("nobody", "a"), e.path)
		require.Equal(t, 401, do("eve", "a"), e.path)
		require.Equal(t, 401, do("eve", ""), e.path)
	}
}

// If a host mixes up its chats, the handler throws its answers away.
func TestChatOfAnAnswer(t *testing.T) {
	local := newLocal(t, nil)
	id := run(t, local.Chat("b"), "echo secret").Process.ID
	h := newHandler(t, mixedUp{local}, nil)
	for path, body := range map[string]string{"/list": `{}`, "/output": `{"id":"` + id + `"}`, "/events": `{}`} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, request(path, body))
		require.Equal(t, http.StatusInternalServerError, w.Code)
		require.NotContains(t, w.Body.String(), "secret")
		require.NotContains(t, w.Body.String(), id)
	}
	out, err := newClient(t, serve(t, h), nil).Chat("a").Start(t.Context(), procmgr.StartRequest{ID: "x", Command: "true"})
	require.ErrorContains(t, err, "the host answered for another chat")
	require.Equal(t, "x", out.Process.ID, "it may have begun")
}

type mixedUp struct{ *proclocal.Local }

func (m mixedUp) Chat(string) procmgr.Manager { return m.Local.Chat("b") }

// Two chats may use the same name for a wait or a signal.
func TestKeysAreTheChats(t *testing.T) {
	local := newLocal(t, nil)
	for _, chat := range []string{"a", "b"} {
		start(t, local.Chat(chat), procmgr.StartRequest{ID: "same", Command: "echo of " + chat + "; exec sleep 1000"})
	}
	h := newHandler(t, local, nil)
	for _, chat := range []string{"a", "b"} {
		r := request("/output", `{"id":"same","wait":"30s","until":"of","wait_id":"w"}`)
		r.Header.Set("Toolproc-Chat-Id", chat)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.Contains(t, w.Body.String(), "of "+chat)
		r = request("/signal", `{"id":"same","signal":"kill"}`)
		r.Header.Set("Toolproc-Chat-Id", chat)
		r.Header.Set("Idempotency-Key", "k")
		status, _ := ask(t, h, r)
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, procmgr.Exited, ended(t, local.Chat(chat), "same").Process.State)
	}
}

// No log and no error has a secret: credentials, commands, output, values of the
// environment, patterns.
func TestNothingSecretIsLogged(t *testing.T) {
	var logged bytes.Buffer
	var mu sync.Mutex
	logger := slog.New(slog.NewJSONHandler(lockedWriter{&mu, &logged}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	p := newProxy(t, serve(t, newHandler(t, newLocal(t, nil), &prochttp.HandlerOptions{Token: token, Logger: logger})))
	c := newClient(t, p.url, &prochttp.ClientOptions{Token: token, Logger: logger, Inject: func(_ context.Context, h http.Header) { h.Set("X-Key", "s3cret") }})
	m := c.Chat("chat-1")
	p.set(func(p *proxy) { p.plan = once("/start", lostAnswer) })
	out := start(t, m, procmgr.StartRequest{
		ID:      "proc-1",
		Command: "echo s3cret; exit 1",
		Env:     map[string]string{"PASSWORD": "s3cret"},
		Wait:    long,
	})
	require.Equal(t, "s3cret\n", out.Text)
	p.set(func(p *proxy) { p.plan = once("/output", cutAnswer) })
	output(t, m, "proc-1", procmgr.OutputRequest{Until: "s3cret", Wait: long})
	_, err := m.Output(t.Context(), "proc-1", procmgr.OutputRequest{Until: "s3cret(", Wait: long})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	wrong := newClient(t, p.url, &prochttp.ClientOptions{Token: "s3cret", Logger: logger})
	_, err = wrong.List(t.Context(), procmgr.ListRequest{})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "s3cret")

	mu.Lock()
	defer mu.Unlock()
	text := logged.String()
	require.NotContains(t, text, token)
	require.NotContains(t, text, "s3cret")
	require.Contains(t, text, `"chat_id":"chat-1","process_id":"proc-1"`)
	require.Contains(t, text, `"level":"WARN","msg":"no answer"`)
	require.Contains(t, text, `"msg":"request"`)
}

type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// A URL with credentials would end up in logs, so no error quotes it.
func TestClientURL(t *testing.T) {
	for _, url := range []string{
		"", "localhost:80", "ftp://host", "http://", "https:///path", "unix://relative", "unix:relative",
		"http://user:s3cret@host", "http://host?token=s3cret", "http://host#s3cret", "http://s3cret\x7f", "http://[s3cret",
	} {
		_, err := prochttp.NewClient(url, nil)
		require.ErrorIs(t, err, procmgr.ErrInvalid, url)
		require.NotContains(t, err.Error(), "s3cret")
	}
	_, err := prochttp.NewClient("http://localhost", &prochttp.ClientOptions{Dial: prochttp.Command("true"), Transport: http.DefaultTransport})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
}

// A handler may have a prefix in its URL.
func TestPrefix(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("/proc/", http.StripPrefix("/proc", newHandler(t, newLocal(t, nil), nil)))
	for _, suffix := range []string{"/proc", "/proc/"} {
		c := newClient(t, serve(t, mux)+suffix, nil)
		require.Equal(t, "hi\n", run(t, c.Chat("a"), "echo hi").Text)
	}
}

// If a host panics, only one call fails.
func TestPanics(t *testing.T) {
	h := newHandler(t, panics{}, nil)
	for _, e := range endpoints {
		r := request(e.path, e.body)
		r.Header.Del("Toolproc-Chat-Id")
		status, code := ask(t, h, r)
		require.Equal(t, http.StatusInternalServerError, status, e.path)
		require.Equal(t, "internal", code, e.path)
	}
	r := request("/output", `{"id":"x","wait":"1s","wait_id":"w"}`)
	r.Header.Del("Toolproc-Chat-Id")
	status, _ := ask(t, h, r)
	require.Equal(t, http.StatusInternalServerError, status)
	c := newClient(t, serve(t, h), nil)
	out, err := c.Start(t.Context(), procmgr.StartRequest{ID: "x", Command: "true"})
	require.ErrorContains(t, err, "the server failed unexpectedly")
	require.Equal(t, "x", out.Process.ID, "it may have begun")
}

type panics struct{ procmgr.Host }
