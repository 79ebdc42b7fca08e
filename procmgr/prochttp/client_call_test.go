package prochttp_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// A proxy that cuts a start again and again does not make its wait longer: the
// next attempt asks for the rest of the wait.
func TestStartIsCutAgainAndAgain(t *testing.T) {
	t.Parallel()
	cut := newCutter(t, serve(t, newHandler(t, newLocal(t, nil), nil)), 100*time.Millisecond)
	c := newClient(t, cut.url, nil)
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	out, err := c.Chat("a").Start(ctx, procmgr.StartRequest{Command: "exec sleep 1000", Wait: 2 * time.Second})
	require.NoError(t, err)
	require.Equal(t, procmgr.Running, out.Process.State)
}

// The client does not ask for ever if something slow stands in front of no server,
// or cuts a call without a wait.
func TestSlowFailures(t *testing.T) {
	t.Parallel()
	const slow = 200 * time.Millisecond
	for name, test := range map[string]struct {
		url  string
		wait time.Duration
		want string
	}{
		"a bad gateway": {serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // a server learns only then that its caller has gone
			select {
			case <-time.After(slow):
			case <-r.Context().Done():
			}
			w.WriteHeader(http.StatusBadGateway)
		})), time.Hour, "something in between answered 502 Bad Gateway"},
		"a cut": {newCutter(t, serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		})), slow).url, 0, "the server cannot be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, test.url, &prochttp.ClientOptions{Retry: 2 * slow})
			ctx, cancel := context.WithTimeout(t.Context(), long/2)
			defer cancel()
			_, err := c.Output(ctx, "x", procmgr.OutputRequest{Wait: test.wait})
			require.ErrorContains(t, err, test.want)
		})
	}
}

// Connections may die silently, all at once, as when a router forgets them. They
// cost a call one attempt together, not one attempt each.
func TestHeldConnectionsDieInSilence(t *testing.T) {
	testenv.Held(t)
	t.Parallel()
	local := newLocal(t, nil)
	r := newRouter(t, serve(t, newHandler(t, local, nil)))
	c := newClient(t, r.url, nil)
	id := begin(t, local, "echo ready; exec sleep 1000").Process.ID
	const idle = 4
	var wg sync.WaitGroup
	for range idle {
		wg.Go(func() {
			_, err := c.Output(t.Context(), id, procmgr.OutputRequest{Wait: long, Until: "^go$"})
			assert.NoError(t, err)
		})
	}
	require.Eventually(t, func() bool { return r.count() == idle }, long, time.Millisecond)
	require.NoError(t, local.Signal(t.Context(), id, procmgr.Kill))
	wg.Wait()
	r.forget()
	page, err := c.List(t.Context(), procmgr.ListRequest{})
	all := page.Processes
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, idle+1, r.count())
}

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

// The time of the retries begins when the first attempt fails: pings find a dead connection
// only after longer than that.
func TestRetriesBeginAtTheFailure(t *testing.T) {
	const retry = 300 * time.Millisecond
	transport := &slowToFail{after: retry + 100*time.Millisecond, RoundTripper: http.DefaultTransport.(*http.Transport).Clone()}
	defer transport.RoundTripper.(*http.Transport).CloseIdleConnections()
	c := newClient(t, serve(t, newHandler(t, newLocal(t, nil), nil)), &prochttp.ClientOptions{Token: token, Retry: retry, Transport: transport})
	command, ran := effects(t)
	for _, path := range []string{"/health", "/start"} {
		transport.path = path
		out, err := c.Start(t.Context(), procmgr.StartRequest{Command: command, Wait: long})
		require.NoError(t, err)
		require.Equal(t, 7, *out.Process.ExitCode)
	}
	require.Equal(t, 2, ran())
	transport.path = "/list"
	page, err := c.List(t.Context(), procmgr.ListRequest{})
	require.NoError(t, err)
	require.Len(t, page.Processes, 2)
	require.Equal(t, 3, transport.failures)
}

// A slowToFail fails the next request of a path after a while.
type slowToFail struct {
	http.RoundTripper
	path     string
	after    time.Duration
	failures int
}

func (s *slowToFail) RoundTrip(req *http.Request) (*http.Response, error) {
	if s.path != req.URL.Path {
		return s.RoundTripper.RoundTrip(req)
	}
	s.path = ""
	s.failures++
	if req.Body != nil {
		_ = req.Body.Close()
	}
	time.Sleep(s.after)
	return nil, errors.New("the connection was found dead")
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
	moved := serve(t, http.RedirectHandler("https://elsewhere.example/", http.StatusFound))
	for _, test := range []struct {
		name, url, token, want string
	}{
		{"wrong token", serve(t, newHandler(t, newLocal(t, nil), nil)), "wrong", "the credentials are missing or wrong"},
		{"unknown authority", tls.URL, token, "certificate"},
		{"plain HTTP to TLS", "http" + strings.TrimPrefix(tls.URL, "https"), token, "is the URL right?"},
		{"another kind of server", strange, token, "something answered 404 Not Found that is no toolproc server: is the URL right?"},
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

// If a proxy drops the headers of an answer, the start is unknown, and the error
// says so.
func TestDroppedHeaders(t *testing.T) {
	inner := serve(t, newHandler(t, newLocal(t, nil), nil))
	drop := false
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req, _ := http.NewRequestWithContext(r.Context(), r.Method, inner+r.URL.RequestURI(), r.Body)
		req.Header = r.Header.Clone()
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			return
		}
		defer res.Body.Close()
		if !drop {
			w.Header().Set("Toolproc-Instance", res.Header.Get("Toolproc-Instance"))
		}
		_, _ = io.Copy(w, res.Body)
	}))
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	c := newClient(t, url, nil)
	run(t, c, "true")
	drop = true
	command, ran := effects(t)
	out, err := c.Start(t.Context(), procmgr.StartRequest{ID: "x", Command: command, Wait: long})
	require.ErrorIs(t, err, procmgr.ErrUnknown)
	require.ErrorContains(t, err, "the answer has no header Toolproc-Instance")
	require.Equal(t, "x", out.Process.ID)
	require.Equal(t, 1, ran())
}
