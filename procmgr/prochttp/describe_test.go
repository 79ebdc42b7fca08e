package prochttp_test

import (
	"context"
	"errors"
	"net/http"
	"runtime"
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

// A client describes the machine of the Host behind the handler, and asks for it
// once.
func TestDescribe(t *testing.T) {
	shell := func(name string) procmgr.Host { return newLocal(t, &proclocal.Options{Shell: []string{name, "-c"}}) }
	for _, test := range []struct {
		name string
		host procmgr.Host
		want procmgr.Description
	}{
		{"zsh", shell("zsh"), procmgr.Description{Shell: "zsh", OS: runtime.GOOS}},
		{"bash", shell("bash"), procmgr.Description{Shell: "bash", OS: runtime.GOOS}},
		{"a program that is no shell", shell("ssh"), procmgr.Description{OS: runtime.GOOS}},
	} {
		t.Run(test.name, func(t *testing.T) {
			h, asked := counting(newHandler(t, test.host, nil), "/describe")
			one := newClient(t, serve(t, h), nil)
			two := newClient(t, serve(t, newHandler(t, one, nil)), nil)
			for _, c := range []*prochttp.Client{two, one} {
				for _, m := range []procmgr.Manager{c, c.Chat("a"), c, c.Chat("a")} {
					machine, err := m.Describe(t.Context())
					require.NoError(t, err)
					require.Equal(t, test.want, machine)
				}
			}
			require.EqualValues(t, 2, asked.Load(), "the host itself and a chat")
		})
	}
}

// A server that was restarted may have another shell.
func TestDescribeAfterARestart(t *testing.T) {
	var now atomic.Pointer[http.Handler]
	begin := func(shell string) {
		h := newHandler(t, newLocal(t, &proclocal.Options{Shell: []string{shell, "-c"}}), nil)
		now.Store(&h)
	}
	begin("bash")
	c := newClient(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*now.Load()).ServeHTTP(w, r) })), nil)
	machine, err := c.Describe(t.Context())
	require.NoError(t, err)
	require.Equal(t, "bash", machine.Shell)
	begin("zsh")
	_, err = c.List(t.Context(), procmgr.ListRequest{})
	require.NoError(t, err)
	machine, err = c.Describe(t.Context())
	require.NoError(t, err)
	require.Equal(t, "zsh", machine.Shell)
}

// Nobody learns of the machine without credentials, and a dead server is no
// server that cannot tell.
func TestDescribeRefused(t *testing.T) {
	url := serve(t, newHandler(t, newLocal(t, nil), nil))
	_, err := newClient(t, url, &prochttp.ClientOptions{Token: "wrong"}).Describe(t.Context())
	require.Error(t, err)
	require.NotErrorIs(t, err, errors.ErrUnsupported)
	_, err = newClient(t, "http://127.0.0.1:1", &prochttp.ClientOptions{Retry: -1}).Describe(t.Context())
	require.Error(t, err)
	require.NotErrorIs(t, err, errors.ErrUnsupported)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = newClient(t, url, nil).Describe(ctx)
	require.ErrorIs(t, err, context.Canceled)
}
