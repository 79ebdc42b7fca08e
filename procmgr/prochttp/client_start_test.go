package prochttp_test

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
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

	// The ID is as good as new.
	settled.Store(true)
	out, err = c.Chat("a").Start(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, 7, *out.Process.ExitCode)
	require.False(t, out.Process.Attached)
	require.Equal(t, 1, ran())
}
