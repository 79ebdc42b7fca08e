package toolset_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// If a call is denied, the result quotes the reason and tells the model not to
// try again, whichever tool it was and however far away the denial was made.
func TestDenied(t *testing.T) {
	t.Parallel()
	why := xerrors.Errorf("this chat may only read: %w", procmgr.ErrRefused)
	denying := &fake{
		start: func(context.Context, procmgr.StartRequest) (procmgr.Output, error) { return procmgr.Output{}, why },
		output: func(context.Context, string, procmgr.OutputRequest) (procmgr.Output, error) {
			return procmgr.Output{}, why
		},
		list:   func(context.Context) ([]procmgr.Process, error) { return nil, why },
		signal: func(context.Context, string, procmgr.Signal) error { return why },
	}
	for name, resolver := range map[string]toolset.Resolver{
		"manager":  toolset.Static(denying),
		"resolver": func(context.Context) (procmgr.Manager, error) { return nil, why },
		"remote":   toolset.Static(remote(t, oneForAll{denying}, nil, nil)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := newSet(resolver, nil)
			for tool, arguments := range anyCall {
				res := set.Call(t.Context(), toolset.Call{Name: tool, Arguments: []byte(arguments)})
				got := contents(t, res)
				require.True(t, res.IsError)
				require.Regexp(t, "^nothing was (started|read|listed|sent|done): ", got["error"])
				require.Contains(t, got["error"], "this chat may only read")
				require.Contains(t, got["error"], "do not retry it")
				require.NotContains(t, strings.ToLower(res.Content), "once more")
				require.NotContains(t, got, "process_id")
			}
		})
	}
}

// If the host does not offer a call, the result says so, and does not tell the model
// to try again, however far away the host is.
func TestUnsupported(t *testing.T) {
	t.Parallel()
	for name, resolver := range map[string]toolset.Resolver{
		"manager":  toolset.Static(procmgr.Unsupported{}),
		"resolver": func(context.Context) (procmgr.Manager, error) { return nil, errors.ErrUnsupported },
		"remote":   toolset.Static(remote(t, oneForAll{procmgr.Unsupported{}}, nil, nil)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := newSet(resolver, &toolset.Options{Input: true})
			for tool, arguments := range map[string]string{
				"execute":        `{"command":"x"}`,
				"process_output": `{"process_id":"x"}`,
				"process_list":   `{}`,
				"process_signal": `{"process_id":"x","signal":"kill"}`,
				"process_input":  `{"process_id":"x","text":"y"}`,
			} {
				res := set.Call(t.Context(), toolset.Call{Name: tool, Arguments: []byte(arguments)})
				got := contents(t, res)
				require.True(t, res.IsError)
				require.Regexp(t, "nothing was (started|read|listed|sent|written|done)", got["error"])
				require.Regexp(t, "[Tt]his host does not offer it", got["error"])
				require.NotRegexp(t, "(?i)try again|once more|may live", res.Content)
				require.NotContains(t, got, "process_id")
			}
		})
	}
}

// A oneForAll host has one Manager for every chat.
type oneForAll struct{ procmgr.Manager }

func (h oneForAll) Chat(string) procmgr.Manager { return h.Manager }

// remote returns a chat of a client of a handler of host.
func remote(t testing.TB, host procmgr.Host, server *prochttp.HandlerOptions, client *prochttp.ClientOptions) procmgr.Manager {
	t.Helper()
	if server == nil {
		server = &prochttp.HandlerOptions{Insecure: true}
	}
	handler, err := prochttp.NewHandler(host, server)
	require.NoError(t, err)
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return chatOf(t, s.URL, client)
}

func chatOf(t testing.TB, url string, opts *prochttp.ClientOptions) procmgr.Manager {
	t.Helper()
	c, err := prochttp.NewClient(url, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c.Chat("chat")
}

// refusing returns the URL of a port without a listener. A connection of the test
// begins at that port, so that no other program gets it meanwhile.
func refusing(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	conn, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return "http://" + conn.LocalAddr().String()
}

// A start that cannot have reached the server, or that was turned away at its
// door, is told as one that ran nothing: the model may run the command again.
func TestRemoteStartThatRanNothing(t *testing.T) {
	t.Parallel()
	host := oneForAll{&fake{start: func(context.Context, procmgr.StartRequest) (procmgr.Output, error) {
		t.Error("a start has reached the host")
		return procmgr.Output{}, procmgr.ErrUnknown
	}}}
	handler := func(opts *prochttp.HandlerOptions) http.Handler {
		h, err := prochttp.NewHandler(host, opts)
		require.NoError(t, err)
		return h
	}
	plain := httptest.NewServer(handler(&prochttp.HandlerOptions{Token: "t0ken"}))
	t.Cleanup(plain.Close)
	tls := httptest.NewUnstartedServer(handler(&prochttp.HandlerOptions{Insecure: true}))
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS()
	t.Cleanup(tls.Close)
	bound := httptest.NewServer(handler(&prochttp.HandlerOptions{Authorize: func(*http.Request) (prochttp.Scope, error) {
		return prochttp.Scope{Chats: func(id string) bool { return id == "another" }}, nil
	}}))
	t.Cleanup(bound.Close)
	ending, end := context.WithCancel(t.Context())
	end()
	closing := httptest.NewServer(handler(&prochttp.HandlerOptions{Insecure: true, Context: ending}))
	t.Cleanup(closing.Close)
	elsewhere := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(elsewhere.Close)
	nobody := refusing(t)
	// Every name is this machine's, and its own Host.
	named := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, plain.Listener.Addr().String())
	}}
	t.Cleanup(named.CloseIdleConnections)
	nameless := &http.Transport{DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: address, IsNotFound: true}}
	}}
	plainURL, err := url.Parse(plain.URL)
	require.NoError(t, err)
	tlsURL, err := url.Parse(tls.URL)
	require.NoError(t, err)

	for _, tt := range []struct {
		name, url string
		opts      prochttp.ClientOptions
		want      string
	}{
		{"wrong token", plain.URL, prochttp.ClientOptions{Token: "wrong"}, "the credentials are missing or wrong"},
		{"no token", plain.URL, prochttp.ClientOptions{}, "the credentials are missing or wrong"},
		{"another chat", bound.URL, prochttp.ClientOptions{}, "this caller may not act for this chat"},
		{"foreign Host", "http://build.example", prochttp.ClientOptions{Token: "t0ken", Transport: named}, "the request is for another host"},
		{"unknown certificate", tls.URL, prochttp.ClientOptions{}, "certificate"},
		{"refused connection", nobody, prochttp.ClientOptions{Retry: 50 * time.Millisecond}, "refused"},
		{"name that does not exist", "http://build.example", prochttp.ClientOptions{Transport: nameless}, "no such host"},
		{"plain HTTP to TLS", "http://" + tlsURL.Host, prochttp.ClientOptions{}, "is the URL right?"},
		{"TLS to plain HTTP", "https://" + plainURL.Host, prochttp.ClientOptions{}, "the server cannot be reached"},
		{"socket that is not there", "unix:///no/such/directory/socket", prochttp.ClientOptions{Retry: 50 * time.Millisecond}, "the server cannot be reached"},
		{"another kind of server", elsewhere.URL, prochttp.ClientOptions{}, "no toolproc server"},
		{"server that is about to end", closing.URL, prochttp.ClientOptions{Retry: 50 * time.Millisecond}, "shutting down"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			set := newSet(toolset.Static(chatOf(t, tt.url, &tt.opts)), nil)
			res := set.Call(t.Context(), toolset.Call{Name: "execute", Arguments: []byte(`{"command":"x"}`)})
			got := contents(t, res)
			require.True(t, res.IsError)
			require.Regexp(t, "^nothing was started: ", got["error"])
			require.Contains(t, got["error"], tt.want)
			require.NotRegexp(t, "unknown whether|run it again|t0ken", res.Content)
			requirePlain(t, res.Content)
			require.NotContains(t, got, "process_id")
		})
	}
}
