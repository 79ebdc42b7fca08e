package prochttp_test

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// If a transport does not report its connections, the client assumes that it has
// sent the request: a restart after a lost answer does not run the command
// again.
func TestTransportWithoutTrace(t *testing.T) {
	p := newProxy(t, serve(t, newHandler(t, newLocal(t, nil), nil)))
	other := serve(t, newHandler(t, newLocal(t, nil), nil))
	inner := &http.Transport{}
	defer inner.CloseIdleConnections()
	c := newClient(t, p.url, &prochttp.ClientOptions{Token: token, Transport: untraced{inner}})
	command, ran := effects(t)
	p.set(func(p *proxy) {
		p.plan = once("/start", lostAnswer)
		p.after = func(r *http.Request) {
			if r.URL.Path == "/start" {
				p.set(func(p *proxy) { p.backend = other })
			}
		}
	})
	out, err := c.Chat("a").Start(t.Context(), procmgr.StartRequest{Command: command, Wait: long})
	require.ErrorIs(t, err, procmgr.ErrUnknown)
	require.NotEmpty(t, out.Process.ID)
	require.Equal(t, 1, ran())
}

// untraced hides the trace of a request from a transport, like a transport that
// is not from net/http.
type untraced struct{ http.RoundTripper }

func (u untraced) RoundTrip(r *http.Request) (*http.Response, error) {
	return u.RoundTripper.RoundTrip(r.WithContext(context.Background()))
}

// An answer to a repeated start says nothing about the attempt before it.
func TestClosedAfterALostAnswer(t *testing.T) {
	ctx, shutDown := context.WithCancel(t.Context())
	p := newProxy(t, serve(t, newHandler(t, newLocal(t, nil), &prochttp.HandlerOptions{Token: token, Context: ctx})))
	c := newClient(t, p.url, nil)
	p.set(func(p *proxy) {
		p.plan = once("/start", lostAnswer)
		p.after = func(r *http.Request) {
			if r.URL.Path == "/start" {
				shutDown()
			}
		}
	})
	command, ran := effects(t)
	out, err := c.Chat("a").Start(t.Context(), procmgr.StartRequest{ID: "x", Command: command, Wait: long})
	require.ErrorIs(t, err, procmgr.ErrUnknown)
	require.ErrorContains(t, err, "an attempt got no answer, and the next one this: process manager is closed")
	require.NotContains(t, err.Error(), "nothing was started")
	require.Equal(t, "x", out.Process.ID)
	require.Equal(t, 1, ran())
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

// Retrying ends with the caller's context, or when its own time is up.
func TestRetriesEnd(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	url := "http://" + l.Addr().String()
	require.NoError(t, l.Close()) // nothing listens there

	c := newClient(t, url, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	out, err := c.Start(ctx, procmgr.StartRequest{ID: "x", Command: "true"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Empty(t, out.Process.ID, "nothing can have begun")

	c = newClient(t, url, &prochttp.ClientOptions{Retry: 300 * time.Millisecond})
	out, err = c.Start(t.Context(), procmgr.StartRequest{ID: "x", Command: "true"})
	require.ErrorContains(t, err, `prochttp: start "x": the server cannot be reached: `)
	require.NotErrorIs(t, err, procmgr.ErrUnknown)
	require.Empty(t, out.Process.ID, "nothing can have begun")

	// Answers that never come leave the command unknown.
	p := newProxy(t, serve(t, newHandler(t, newLocal(t, nil), nil)))
	c = newClient(t, p.url, &prochttp.ClientOptions{Token: token, Retry: 300 * time.Millisecond})
	p.set(func(p *proxy) {
		p.plan = func(r *http.Request) fault {
			if r.URL.Path == "/start" {
				return lostAnswer
			}
			return none
		}
	})
	command, ran := effects(t)
	out, err = c.Start(t.Context(), procmgr.StartRequest{ID: "x", Command: command, Wait: long})
	require.ErrorIs(t, err, procmgr.ErrUnknown)
	require.Equal(t, "x", out.Process.ID)
	require.Equal(t, 1, ran())
	found, err := c.Output(t.Context(), "x", procmgr.OutputRequest{})
	require.NoError(t, err, "its result is there all the same")
	require.Equal(t, 7, *found.Process.ExitCode)
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
