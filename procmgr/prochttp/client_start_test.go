package prochttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// Two servers that take turns behind one URL refuse each other's starts. The
// client gives up, and knows that nothing has run.
func TestServersThatTakeTurns(t *testing.T) {
	servers := []http.Handler{newHandler(t, newLocal(t, nil), nil), newHandler(t, newLocal(t, nil), nil)}
	var turn atomic.Int32
	var settled atomic.Bool
	c := newClient(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := turn.Add(1)
		if settled.Load() {
			n = 0
		}
		servers[n%2].ServeHTTP(w, r)
	})), nil)
	command, ran := effects(t)
	req := procmgr.StartRequest{ID: "x", Command: command, Wait: long}
	out, err := c.Chat("a").Start(t.Context(), req)
	require.ErrorContains(t, err, "nothing was started")
	require.NotErrorIs(t, err, procmgr.ErrUnknown)
	require.Empty(t, out.Process.ID)
	require.Zero(t, ran())

	// The ID can be used as if it were new.
	settled.Store(true)
	out = start(t, c.Chat("a"), req)
	require.Equal(t, 7, *out.Process.ExitCode)
	require.False(t, out.Attached)
	require.Equal(t, 1, ran())
}

// A transport can say that it has sent nothing. Then nothing has begun. If that
// is for good, the client does not ask again.
func TestTransportThatSendsNothing(t *testing.T) {
	for _, tt := range []struct {
		name  string
		cause error
		final bool
	}{
		{"for now", errors.New("there is no such machine"), false},
		{"not allowed", procmgr.ErrRefused, true},
		{"too long", fmt.Errorf("the request is too long: %w", procmgr.ErrInvalid), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tries, send := 0, direct(newHandler(t, newLocal(t, nil), nil))
			c := newClient(t, "http://localhost", &prochttp.ClientOptions{Token: token, Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.URL.Path == "/start" {
					if tries++; tries == 1 {
						return nil, prochttp.Unsent(tt.cause)
					}
				}
				return send(r)
			})})
			out, err := c.Chat("a").Start(t.Context(), procmgr.StartRequest{ID: "x", Command: "true"})
			if !tt.final {
				require.NoError(t, err)
				require.False(t, out.Attached)
				require.Equal(t, 2, tries)
				return
			}
			require.ErrorIs(t, err, tt.cause)
			require.NotErrorIs(t, err, procmgr.ErrUnknown)
			require.Empty(t, out.Process.ID)
			require.Equal(t, 1, tries)
		})
	}
}

// If two calls have one ID, the call whose request is late does not know what
// the other call has done on a server that is gone.
func TestRestartBetweenTwoCallsOfOneID(t *testing.T) {
	for name, leave := range map[string]bool{"the late one arrives": false, "the late one is given up": true} {
		t.Run(name, func(t *testing.T) {
			p := newProxy(t, serve(t, newHandler(t, newLocal(t, nil), nil)))
			other := serve(t, newHandler(t, newLocal(t, nil), nil))
			var starts atomic.Int32
			held, release := make(chan struct{}), make(chan struct{})
			late := new(http.Transport)
			defer late.CloseIdleConnections()
			c := newClient(t, p.url, &prochttp.ClientOptions{Token: token, Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.URL.Path == "/start" && starts.Add(1) == 1 { // the first one is held back before it is sent
					close(held)
					<-release
				}
				return late.RoundTrip(r)
			})})
			m := c.Chat("a")
			_, err := m.List(t.Context(), procmgr.ListRequest{})
			require.NoError(t, err)

			command, ran := effects(t)
			req := procmgr.StartRequest{ID: "x", Command: command, Wait: long}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			first := make(chan error)
			go func() {
				_, err := m.Start(ctx, req)
				first <- err
			}()
			<-held
			start(t, m, req)
			want := procmgr.ErrUnknown
			if leave {
				stop()
				want = context.Canceled
			} else {
				p.set(func(p *proxy) { p.backend = other })
			}
			close(release)
			require.ErrorIs(t, <-first, want)
			p.set(func(p *proxy) { p.backend = other })
			_, err = m.Start(t.Context(), req)
			require.ErrorIs(t, err, procmgr.ErrUnknown)
			require.Equal(t, 1, ran())
		})
	}
}

// A call that cannot have reached the server says nothing about an earlier call
// with the same ID, which may have reached it.
func TestRepeatedStartOfAServerThatIsGone(t *testing.T) {
	for name, want := range map[string]string{
		"the server is gone":         "the server cannot be reached",
		"the server is about to end": "the server is shutting down", // and has not looked for the ID
	} {
		t.Run(name, func(t *testing.T) {
			ctx, shutDown := context.WithCancel(t.Context())
			server := httptest.NewServer(newHandler(t, newLocal(t, nil), &prochttp.HandlerOptions{Token: token, Context: ctx}))
			defer server.Close()
			c := newClient(t, server.URL, &prochttp.ClientOptions{Token: token, Retry: -1})
			command, ran := effects(t)
			req := procmgr.StartRequest{ID: "x", Command: command, Wait: long}
			start(t, c.Chat("a"), req)
			if shutDown(); name == "the server is gone" {
				require.NoError(t, c.Close())
				server.Close()
			}
			out, err := c.Chat("a").Start(t.Context(), req)
			require.ErrorContains(t, err, want)
			require.Equal(t, "x", out.Process.ID, "an earlier call may have started it, and has")
			require.Equal(t, 1, ran())
			req.ID = "y"
			out, err = c.Chat("a").Start(t.Context(), req)
			require.ErrorContains(t, err, want)
			require.Empty(t, out.Process.ID, "nothing can have begun")
		})
	}
}

// The same ID for another command is a conflict, even if the first attempt got
// no answer.
func TestConflictAfterALostAnswer(t *testing.T) {
	p := newProxy(t, serve(t, newHandler(t, newLocal(t, nil), nil)))
	c := newClient(t, p.url, nil)
	start(t, c, procmgr.StartRequest{ID: "x", Command: "true", Wait: long})
	p.set(func(p *proxy) { p.plan = once("/start", lostAnswer) })
	out, err := newClient(t, p.url, nil).Start(t.Context(), procmgr.StartRequest{ID: "x", Command: "false", Wait: long})
	require.ErrorIs(t, err, procmgr.ErrConflict)
	require.Empty(t, out.Process.ID)
}

// An Age grows with each attempt, by the client's own clock, and 0 stays 0.
func TestAgeGrows(t *testing.T) {
	const pause = 20 * time.Millisecond // a retry comes later
	for _, age := range []time.Duration{0, time.Minute, math.MaxInt64} {
		var ages []time.Duration
		h := newHandler(t, newLocal(t, nil), nil)
		c := newClient(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/start" {
				body, err := io.ReadAll(r.Body)
				assert.NoError(t, err)
				var sent struct{ Age string }
				assert.NoError(t, json.Unmarshal(body, &sent))
				d, _ := time.ParseDuration(sent.Age)
				if ages = append(ages, d); len(ages) < 3 {
					panic(http.ErrAbortHandler)
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
			}
			h.ServeHTTP(w, r)
		})), nil)
		_, err := c.Chat("a").Start(t.Context(), procmgr.StartRequest{ID: "x", Command: "true", Age: age})
		require.Len(t, ages, 3)
		if age == 0 {
			require.NoError(t, err)
			require.Equal(t, []time.Duration{0, 0, 0}, ages)
			continue
		}
		require.ErrorIs(t, err, procmgr.ErrUnknown, "the server is younger")
		require.ErrorContains(t, err, "before the restart")
		for i, sent := range ages {
			require.GreaterOrEqual(t, sent, age+min(time.Duration(i)*pause, math.MaxInt64-age))
		}
	}
}

// A start that another program may have sent before is no refusal, if no server has looked
// whether it knows the ID.
func TestAgeOfAStartThatIsNotLookedAt(t *testing.T) {
	down, shutDown := context.WithCancel(t.Context())
	shutDown()
	local := newLocal(t, nil)
	gone := httptest.NewServer(nil)
	gone.Close()
	for _, tt := range []struct {
		name   string
		server string
		token  string
		want   error
	}{
		{"no server", gone.URL, token, procmgr.ErrUnknown},
		{"another token", serve(t, newHandler(t, local, nil)), "x", procmgr.ErrRefused},
		{"a server that shuts down", serve(t, newHandler(t, local, &prochttp.HandlerOptions{Token: token, Context: down})), token, procmgr.ErrUnknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newClient(t, tt.server, &prochttp.ClientOptions{Token: tt.token, Retry: -1}).Chat("a")
			req := procmgr.StartRequest{ID: "x", Command: "true"}
			out, err := m.Start(t.Context(), req)
			require.Error(t, err)
			require.Empty(t, out.Process.ID)
			req.Age = time.Nanosecond
			out, err = m.Start(t.Context(), req)
			require.ErrorIs(t, err, tt.want)
			require.Equal(t, "x", out.Process.ID)
		})
	}
	m := newClient(t, serve(t, newHandler(t, local, nil)), nil).Chat("a")
	out, err := m.Start(t.Context(), procmgr.StartRequest{ID: "x", Command: "true", WorkDir: "/none", Age: time.Nanosecond})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	require.Empty(t, out.Process.ID, "the server has looked")
}

// A start that is long on the way becomes older: the server may have been restarted after the
// command ran, and be older than the start was when it was sent.
func TestAgeOnTheWay(t *testing.T) {
	restarted := time.Now()
	send := direct(newHandler(t, newLocal(t, nil), nil))
	c := newClient(t, "http://localhost", &prochttp.ClientOptions{Token: token, Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/start" {
			time.Sleep(time.Since(restarted) + 20*time.Millisecond) // as a server does that is stopped
		}
		return send(r)
	})})
	command, ran := effects(t)
	_, err := c.Chat("a").Start(t.Context(), procmgr.StartRequest{ID: "x", Command: command, Age: time.Since(restarted) + 10*time.Millisecond, Wait: long})
	require.ErrorIs(t, err, procmgr.ErrUnknown)
	require.Zero(t, ran())
}
