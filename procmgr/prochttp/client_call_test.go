package prochttp_test

import (
	"bytes"
	"context"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// If an attempt of a start gets no answer, and no later attempt can tell of it, it is
// unknown whether the command has run: it has.
func TestStartIsUnknown(t *testing.T) {
	inner := &http.Transport{}
	defer inner.CloseIdleConnections()
	moves := func(p *proxy, other string, _ func()) { p.set(func(p *proxy) { p.backend = other }) }
	for _, tt := range []struct {
		name string
		opts prochttp.ClientOptions
		then func(p *proxy, other string, shutDown func()) // follows the first attempt; nil: no answer ever
		want string
	}{
		{"another server", prochttp.ClientOptions{}, moves, "the server was restarted after"},
		{"another server, by a transport that does not report its connections", prochttp.ClientOptions{Transport: untraced{inner}}, moves, "the server was restarted after"},
		{
			"a server that shuts down", prochttp.ClientOptions{}, func(_ *proxy, _ string, shutDown func()) { shutDown() },
			"an attempt got no answer, and the next one this: process manager is closed: unknown",
		},
		{"no answer", prochttp.ClientOptions{Retry: 300 * time.Millisecond}, nil, "the server cannot be reached"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, shutDown := context.WithCancel(t.Context())
			p := newProxy(t, serve(t, newHandler(t, newLocal(t, nil), &prochttp.HandlerOptions{Token: token, Context: ctx})))
			other := serve(t, newHandler(t, newLocal(t, nil), nil))
			tt.opts.Token = token
			c := newClient(t, p.url, &tt.opts)
			p.set(func(p *proxy) {
				p.plan = every("/start", lostAnswer)
				if tt.then != nil {
					p.plan = once("/start", lostAnswer)
					p.after = onStart(func() { tt.then(p, other, shutDown) })
				}
			})
			command, ran := effects(t)
			req := procmgr.StartRequest{ID: "x", Command: command, Wait: long}
			out, err := c.Chat("a").Start(t.Context(), req)
			require.ErrorIs(t, err, procmgr.ErrUnknown)
			require.ErrorContains(t, err, tt.want)
			require.Equal(t, "x", out.Process.ID)
			if strings.Contains(tt.want, "restarted") { // it stays unknown, whichever call asks again
				out, err = c.Chat("a").Start(t.Context(), req)
				require.ErrorIs(t, err, procmgr.ErrUnknown)
				require.Equal(t, "x", out.Process.ID)
			}
			require.Equal(t, 1, ran())
			if tt.then == nil {
				found := output(t, c.Chat("a"), "x", procmgr.OutputRequest{})
				require.Equal(t, 7, *found.Process.ExitCode, "its result is there all the same")
			}
		})
	}
}

// untraced hides the trace of a request from a transport, like a transport that
// is not from net/http.
type untraced struct{ http.RoundTripper }

func (u untraced) RoundTrip(r *http.Request) (*http.Response, error) {
	return u.RoundTripper.RoundTrip(r.WithContext(context.Background()))
}

// A caller that goes away is nothing to warn of, also if the connection breaks with it.
func TestCanceledCallIsNotWarnedOf(t *testing.T) {
	var logged bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	c, err := prochttp.NewClient("http://localhost", &prochttp.ClientOptions{
		Transport: roundTripper(func(*http.Request) (*http.Response, error) { cancel(); return nil, io.EOF }),
		Logger:    slog.New(slog.NewTextHandler(&logged, nil)),
	})
	require.NoError(t, err)
	_, err = c.List(ctx, procmgr.ListRequest{})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, logged.String())
}

// If a server is restarted while a start waits in slices, the start is unknown,
// in a later slice as in the first one.
func TestRestartWhileAStartWaits(t *testing.T) {
	c, p := sliced(t, newLocal(t, nil))
	other := serve(t, newHandler(t, newLocal(t, nil), nil))
	p.set(func(p *proxy) {
		p.after = func(r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/output") {
				p.set(func(p *proxy) { p.backend = other })
			}
		}
	})
	out, err := c.Chat("a").Start(t.Context(), procmgr.StartRequest{ID: "x", Command: "exec sleep 1000", Wait: long})
	require.ErrorIs(t, err, procmgr.ErrUnknown)
	require.ErrorContains(t, err, "the server was restarted since")
	require.Equal(t, "x", out.Process.ID)
}

// An error that a repeat cannot mend is returned at once.
func TestErrorsThatAreNotRetried(t *testing.T) {
	tls := httptest.NewUnstartedServer(newHandler(t, newLocal(t, nil), nil))
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS()
	defer tls.Close()
	requests := 0
	strange := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		http.NotFound(w, r)
	}))
	headless := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"status":"ok"}`) // a proxy has dropped the headers
	}))
	moved := serve(t, http.RedirectHandler("https://elsewhere.example/", http.StatusFound))
	for _, test := range []struct {
		name, url, token, want string
	}{
		{"wrong token", serve(t, newHandler(t, newLocal(t, nil), nil)), "wrong", "the credentials are missing or wrong"},
		{"unknown authority", tls.URL, token, "certificate"},
		{"plain HTTP to TLS", "http" + strings.TrimPrefix(tls.URL, "https"), token, "is the URL right?"},
		{"another kind of server", strange, token, "something answered 404 Not Found that is no toolproc server: is the URL right?"},
		{"no headers", headless, token, "the answer has no header Toolproc-Instance"},
		{"a redirect", moved, token, "redirects are not followed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newClient(t, test.url, &prochttp.ClientOptions{Token: test.token, Retry: time.Hour})
			out, err := c.Start(t.Context(), procmgr.StartRequest{Command: "true"})
			require.ErrorContains(t, err, test.want)
			require.Empty(t, out.Process.ID)
			require.NotContains(t, err.Error(), token)
			_, err = c.List(t.Context(), procmgr.ListRequest{})
			require.ErrorContains(t, err, test.want)
		})
	}
	require.LessOrEqual(t, requests, 2)
}
