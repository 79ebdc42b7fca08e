package prochttp_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// A start that a proxy cuts again and again takes no longer than it was to wait:
// what is left of the wait is what the next attempt asks for.
func TestStartIsCutAgainAndAgain(t *testing.T) {
	t.Parallel()
	for _, idle := range []time.Duration{300 * time.Millisecond, prochttp.Progress + 200*time.Millisecond} {
		t.Run(idle.String(), func(t *testing.T) {
			t.Parallel()
			cut := newCutter(t, serve(t, newHandler(t, newLocal(t, nil), nil)), idle)
			c := newClient(t, cut.url, nil)
			ctx, cancel := context.WithTimeout(t.Context(), long)
			defer cancel()
			out, err := c.Chat("a").Start(ctx, procmgr.StartRequest{Command: "exec sleep 1000", Wait: 4 * time.Second})
			require.NoError(t, err)
			require.Equal(t, procmgr.Running, out.Process.State)
		})
	}
}

// A proxy that is slow to say that it reaches no server is not asked for ever.
func TestSlowBadGateway(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]time.Duration{"no wait": 0, "a wait": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				select {
				case <-time.After(prochttp.Progress + 100*time.Millisecond):
				case <-r.Context().Done():
				}
				w.WriteHeader(http.StatusBadGateway)
			}))
			c := newClient(t, url, &prochttp.ClientOptions{Retry: 100 * time.Millisecond})
			ctx, cancel := context.WithTimeout(t.Context(), long/2)
			defer cancel()
			_, err := c.Output(ctx, "x", procmgr.OutputRequest{Wait: wait})
			require.ErrorContains(t, err, "something in between answered 502 Bad Gateway")
		})
	}
}

// The same for a connection that is slow to fail, under a call that waits for
// nothing.
func TestSlowCut(t *testing.T) {
	t.Parallel()
	cut := newCutter(t, serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	})), prochttp.Progress+100*time.Millisecond)
	c := newClient(t, cut.url, &prochttp.ClientOptions{Retry: 100 * time.Millisecond})
	ctx, cancel := context.WithTimeout(t.Context(), long/2)
	defer cancel()
	_, err := c.List(ctx)
	require.ErrorContains(t, err, "the server cannot be reached")
}

// A transport that tells nothing of its connections is taken to have sent what
// it was given: a restart after a lost answer runs nothing again.
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

// untraced hides a request's trace from a transport, as one that is not of
// net/http does.
type untraced struct{ http.RoundTripper }

func (u untraced) RoundTrip(r *http.Request) (*http.Response, error) {
	return u.RoundTripper.RoundTrip(r.WithContext(context.Background()))
}

// An answer to a repeated start says nothing of the attempt before it.
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

// A server that is restarted while a start waits in slices leaves it unknown, as
// one that is restarted in the first slice does.
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
