package prochttp_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

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
			transport := &unsentStart{handler: newHandler(t, newLocal(t, nil), nil), cause: tt.cause}
			c := newClient(t, "http://localhost", &prochttp.ClientOptions{Transport: transport, Token: token})
			out, err := c.Chat("a").Start(t.Context(), procmgr.StartRequest{ID: "x", Command: "true"})
			if !tt.final {
				require.NoError(t, err)
				require.False(t, out.Attached)
				require.Equal(t, 2, transport.tries)
				return
			}
			require.ErrorIs(t, err, tt.cause)
			require.NotErrorIs(t, err, procmgr.ErrUnknown)
			require.Empty(t, out.Process.ID)
			require.Equal(t, 1, transport.tries)
		})
	}
}

// An unsentStart does not send the first start.
type unsentStart struct {
	handler http.Handler
	cause   error
	tries   int
}

func (u *unsentStart) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == "/start" {
		if u.tries++; u.tries == 1 {
			return nil, prochttp.Unsent(u.cause)
		}
	}
	w := httptest.NewRecorder()
	u.handler.ServeHTTP(w, r)
	return w.Result(), nil
}
