package prochttp_test

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// A call that cannot have reached the server says nothing about an earlier call
// with the same ID, which may have reached it.
func TestRepeatedStartOfAServerThatIsGone(t *testing.T) {
	server := httptest.NewServer(newHandler(t, newLocal(t, nil), nil))
	defer server.Close()
	c := newClient(t, server.URL, &prochttp.ClientOptions{Token: token, Retry: -1})
	command, ran := effects(t)
	req := procmgr.StartRequest{ID: "x", Command: command, Wait: long}
	start(t, c.Chat("a"), req)
	require.NoError(t, c.Close())
	server.Close()

	out, err := c.Chat("a").Start(t.Context(), req)
	require.ErrorContains(t, err, "the server cannot be reached")
	require.Equal(t, "x", out.Process.ID, "an earlier call may have started it, and has")
	require.Equal(t, 1, ran())
	req.ID = "y"
	out, err = c.Chat("a").Start(t.Context(), req)
	require.ErrorContains(t, err, "the server cannot be reached")
	require.Empty(t, out.Process.ID, "nothing can have begun")
}

// A server that shuts down has not looked whether it knows the ID.
func TestRepeatedStartOfAServerThatShutsDown(t *testing.T) {
	ctx, shutDown := context.WithCancel(t.Context())
	c := newClient(t, serve(t, newHandler(t, newLocal(t, nil), &prochttp.HandlerOptions{Token: token, Context: ctx})), nil)
	req := procmgr.StartRequest{ID: "x", Command: "true", Wait: long}
	start(t, c, req)
	shutDown()

	out, err := c.Start(t.Context(), req)
	require.ErrorIs(t, err, procmgr.ErrClosed)
	require.Equal(t, "x", out.Process.ID, "it has run")
	req.ID = "y"
	out, err = c.Start(t.Context(), req)
	require.ErrorIs(t, err, procmgr.ErrClosed)
	require.Empty(t, out.Process.ID)
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

// A refusal goes through a chain in the words of the server that refuses, and
// the client asks only once.
func TestRefusedInAChain(t *testing.T) {
	starts := 0
	host := &actor{t: t, start: func(context.Context, procmgr.StartRequest) (procmgr.Output, error) {
		starts++
		return procmgr.Output{}, xerrors.Errorf("only make may be run here: %w", procmgr.ErrRefused)
	}}
	inner := newClient(t, serve(t, newHandler(t, host, nil)), nil)
	outer := newClient(t, serve(t, newHandler(t, inner, nil)), nil)
	out, err := outer.Chat("a").Start(t.Context(), procmgr.StartRequest{ID: "x", Command: "rm -rf /", Wait: time.Second})
	require.ErrorIs(t, err, procmgr.ErrRefused)
	require.EqualError(t, err, `prochttp: start "x": only make may be run here: refused`)
	require.Empty(t, out.Process.ID)
	require.Equal(t, 1, starts)
}
