package prochttp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proctest"
)

// A tape is a Script that remembers the chats for which it was called.
type tape struct {
	*proctest.Script
	chats map[string]bool
}

func newTape(t *testing.T) *tape {
	h := &tape{proctest.NewScript(), make(map[string]bool)}
	h.On("*", proctest.Prints("\xff", 0))
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	return h
}

func (h *tape) Chat(id string) procmgr.Manager {
	h.chats[id] = true
	return h.Script.Chat(id)
}

// FuzzHandler gives the handler anything that net/http accepts as a request. A
// caller acts only for the chats that it may act for, and every answer is JSON
// with a status of the protocol.
func FuzzHandler(f *testing.F) {
	const head = " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token + "\r\n"
	const post = head + "Content-Type: application/json\r\nToolproc-Chat-Id: a\r\nContent-Length: "
	for _, seed := range []string{
		"POST /list" + post + "2\r\n\r\n{}",
		"GET /list HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"POST /list" + head + "Origin: x\r\n\r\n",
		"POST /output" + post + "63\r\n\r\n{\"id\":\"x\",\"from\":1,\"wait\":\"0s\",\"until\":\"a\",\"state\":\"running\"}",
		"POST /./output" + head + "Toolproc-Chat-Id: %61%2F\r\n\r\n",
		"POST /start" + post + "18\r\n\r\n{\"command\":\"true\"}",
		"POST /start" + post + "70\r\n\r\n{\"id\":\"x\",\"command\":\"a\",\"wait\":\"1s\",\"limit\":{\"bytes\":1},\"env\":{\"a\":\"b\"}}",
		"POST /signal" + post + "24\r\n\r\n{\"id\":\"x\",\"signal\":\"kill\"}",
		"POST /signal" + head + "Idempotency-Key: k\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"sig\r\n0\r\n\r\n",
		"OPTIONS *" + head + "\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
		if err != nil {
			return
		}
		host := newTape(t)
		h, err := prochttp.NewHandler(host, &prochttp.HandlerOptions{Token: token})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // it may ask to wait for an event
		defer cancel()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r.WithContext(ctx))

		require.True(t, json.Valid(w.Body.Bytes()), "%d %q", w.Code, w.Body)
		require.NotContains(t, w.Body.String(), token)
		var body struct{ Code string }
		_ = json.Unmarshal(w.Body.Bytes(), &body)
		require.Equal(t, w.Code == http.StatusOK, body.Code == "")
		require.Contains(t, []int{200, 400, 401, 403, 404, 405, 409, 413, 415, 431, 500}, w.Code)
		if scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " "); !strings.EqualFold(scheme, "Bearer") || given != token {
			require.Empty(t, host.Started())
			require.Empty(t, host.chats)
		}
		for chat := range host.chats {
			require.NotEmpty(t, chat)
			require.Len(t, r.Header.Values("Toolproc-Chat-Id"), 1)
		}
		if len(host.Started()) > 0 {
			require.Equal(t, http.MethodPost, r.Method)
			require.True(t, strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") ||
				strings.EqualFold(strings.TrimSpace(strings.Split(r.Header.Get("Content-Type"), ";")[0]), "application/json"))
			require.LessOrEqual(t, host.Started()[0].Wait, prochttp.MaxSlice)
		}
	})
}

// FuzzRoundTrip sends a request from a client to a handler. Either the same
// request arrives, or it is refused and nothing arrives.
func FuzzRoundTrip(f *testing.F) {
	f.Add("a", "id", "echo hi", "/tmp", "K", "v", int64(0), 0, true)
	f.Add("a/b %2F", "id", "printf '\u2028<&>\x00'", "", "", "", int64(1e9), 9, false)
	f.Add(" a ", "", "\xff", "\\", "\n", "\"", int64(1), -1, true)
	f.Fuzz(func(t *testing.T, chat, id, command, dir, name, value string, wait int64, limit int, background bool) {
		host := newTape(t)
		handler, err := prochttp.NewHandler(host, &prochttp.HandlerOptions{Insecure: true})
		require.NoError(t, err)
		c, err := prochttp.NewClient("http://localhost", &prochttp.ClientOptions{Transport: direct(handler), Retry: -1})
		require.NoError(t, err)
		sent := procmgr.StartRequest{ID: id, Command: command, WorkDir: dir, Background: background}
		sent.Wait = max(time.Duration(wait)%prochttp.Slice, 0)
		sent.Limit = headtail.Limits{Bytes: limit, Line: limit / 2}
		if name != "" {
			sent.Env = map[string]string{name: value}
		}
		_, err = c.Chat(chat).Start(t.Context(), sent)
		if len(host.Started()) == 0 {
			require.ErrorIs(t, err, procmgr.ErrInvalid)
			return
		}
		require.Len(t, host.Started(), 1)
		got := host.Started()[0]
		if id == "" {
			require.Len(t, got.ID, 10, "the client's own")
			got.ID = ""
		}
		require.Equal(t, sent, got)
		require.Equal(t, map[string]bool{chat: true}, host.chats)
	})
}

type roundTripper func(r *http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// direct returns a transport without a network.
func direct(handler http.Handler) roundTripper {
	return func(r *http.Request) (*http.Response, error) {
		// This transport too refuses a request that HTTP cannot carry.
		var wire bytes.Buffer
		if err := r.Write(&wire); err != nil {
			return nil, err
		}
		arrived, err := http.ReadRequest(bufio.NewReader(&wire))
		if err != nil {
			return nil, err
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, arrived.WithContext(r.Context()))
		return w.Result(), nil
	}
}
