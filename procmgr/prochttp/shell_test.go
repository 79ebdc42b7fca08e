package prochttp_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// counting counts the requests for one path.
func counting(h http.Handler, path string) (http.Handler, *atomic.Int32) {
	n := new(atomic.Int32)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == path {
			n.Add(1)
		}
		h.ServeHTTP(w, r)
	}), n
}

// A client tells the shell of the Host behind the handler, and asks for it once.
func TestShell(t *testing.T) {
	for shell, want := range map[string]string{"zsh": "zsh", "bash": "bash", "ssh": ""} {
		l := newLocal(t, &proclocal.Options{Shell: []string{shell, "-c"}})
		h, asked := counting(newHandler(t, l, nil), "/shell")
		one := newClient(t, serve(t, h), nil)
		two := newClient(t, serve(t, newHandler(t, one, nil)), nil)
		for _, c := range []*prochttp.Client{two, one} {
			for _, m := range []procmgr.Manager{c, c.Chat("a"), c, c.Chat("a")} {
				name, err := procmgr.Shell(t.Context(), m)
				require.Equal(t, want, name)
				require.Equal(t, want == "", errors.Is(err, errors.ErrUnsupported), "%v", err)
			}
		}
		require.EqualValues(t, 2, asked.Load(), "the host itself and a chat")
	}
}

// Each chat of a Host may have a shell of its own.
func TestShellOfAChat(t *testing.T) {
	c := newClient(t, serve(t, newHandler(t, shells{newLocal(t, nil)}, nil)), nil)
	for chat, want := range map[string]string{"bash": "bash", "zsh": "zsh"} {
		name, err := procmgr.Shell(t.Context(), c.Chat(chat))
		require.NoError(t, err)
		require.Equal(t, want, name)
	}
	_, err := procmgr.Shell(t.Context(), c.Chat(""))
	require.ErrorIs(t, err, procmgr.ErrInvalid)
}

// shells is a Host whose chats are called like their shells.
type shells struct{ procmgr.Host }

func (s shells) Chat(id string) procmgr.Manager { return shellOf{s.Host.Chat(id), id} }

type shellOf struct {
	procmgr.Manager
	name string
}

func (s shellOf) Shell(context.Context) (string, error) { return s.name, nil }

// A handler of an earlier version has no such endpoint.
func TestShellOfAnEarlierVersion(t *testing.T) {
	h := newHandler(t, newLocal(t, nil), nil)
	old, asked := counting(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/shell" {
			r.URL.Path = "/nothing"
		}
		h.ServeHTTP(w, r)
	}), "/shell")
	c := newClient(t, serve(t, old), nil)
	for range 2 {
		_, err := procmgr.Shell(t.Context(), c)
		require.ErrorIs(t, err, errors.ErrUnsupported)
	}
	require.EqualValues(t, 1, asked.Load())
	require.Equal(t, "ok\n", run(t, c, "echo ok").Text)
}

// A server that was restarted may have another shell.
func TestShellAfterARestart(t *testing.T) {
	var now atomic.Pointer[http.Handler]
	begin := func(shell string) {
		h := newHandler(t, newLocal(t, &proclocal.Options{Shell: []string{shell, "-c"}}), nil)
		now.Store(&h)
	}
	begin("bash")
	c := newClient(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*now.Load()).ServeHTTP(w, r) })), nil)
	name, err := c.Shell(t.Context())
	require.NoError(t, err)
	require.Equal(t, "bash", name)
	begin("zsh")
	_, err = c.List(t.Context())
	require.NoError(t, err)
	name, err = c.Shell(t.Context())
	require.NoError(t, err)
	require.Equal(t, "zsh", name)
}

// Nobody learns the shell without credentials, and a dead server is no server
// that cannot tell.
func TestShellRefused(t *testing.T) {
	url := serve(t, newHandler(t, newLocal(t, nil), nil))
	_, err := newClient(t, url, &prochttp.ClientOptions{Token: "wrong"}).Shell(t.Context())
	require.Error(t, err)
	require.NotErrorIs(t, err, errors.ErrUnsupported)
	_, err = newClient(t, "http://127.0.0.1:1", &prochttp.ClientOptions{Retry: -1}).Shell(t.Context())
	require.Error(t, err)
	require.NotErrorIs(t, err, errors.ErrUnsupported)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = newClient(t, url, nil).Shell(ctx)
	require.ErrorIs(t, err, context.Canceled)
}
