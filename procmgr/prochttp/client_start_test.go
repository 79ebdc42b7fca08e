package prochttp_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

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
	out, err = c.Chat("a").Start(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, 7, *out.Process.ExitCode)
	require.False(t, out.Attached)
	require.Equal(t, 1, ran())
}

// A start that reaches no server says nothing about an earlier start with the
// same ID whose answer was lost.
func TestUnreachableAfterALostAnswer(t *testing.T) {
	p := newProxy(t, serve(t, newHandler(t, newLocal(t, nil), nil)))
	refused := &refusedStart{}
	defer refused.CloseIdleConnections()
	c := newClient(t, p.url, &prochttp.ClientOptions{Token: token, Retry: -1, Transport: refused})
	m := c.Chat("a")
	_, err := m.List(t.Context())
	require.NoError(t, err)
	p.set(func(p *proxy) { p.plan = once("/start", lostAnswer) })
	command, ran := effects(t)
	req := procmgr.StartRequest{ID: "x", Command: command, Wait: time.Second}
	for range 2 {
		out, err := m.Start(t.Context(), req)
		require.ErrorIs(t, err, procmgr.ErrUnknown)
		require.Equal(t, procmgr.Process{ID: "x", ChatID: "a"}, out.Process)
	}
	require.Equal(t, 1, ran())
}

// refusedStart refuses the connection of every start but the first.
type refusedStart struct {
	http.Transport
	starts atomic.Int32
}

func (s *refusedStart) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == "/start" && s.starts.Add(1) > 1 {
		r = r.Clone(r.Context())
		r.URL.Host = "127.0.0.1:1" // nobody is there
	}
	return s.Transport.RoundTrip(r)
}
