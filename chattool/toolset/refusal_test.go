package toolset_test

import (
	"context"
	"errors"
	"maps"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// If a call is denied, or the host does not offer it, the result says why and tells the
// model not to try again, whichever tool it was and however far away the host is.
func TestNeverWorks(t *testing.T) {
	t.Parallel()
	why := xerrors.Errorf("this chat may only read: %w", procmgr.ErrRefused)
	denying := &fake{
		start: func(context.Context, procmgr.StartRequest) (procmgr.Output, error) { return procmgr.Output{}, why },
		output: func(context.Context, string, procmgr.OutputRequest) (procmgr.Output, error) {
			return procmgr.Output{}, why
		},
		list:   func(context.Context) ([]procmgr.Process, error) { return nil, why },
		signal: func(context.Context, string, procmgr.Signal) error { return why },
	}
	for _, tt := range []struct {
		name string
		m    procmgr.Manager
		err  error
		want string
	}{
		{"denied", denying, why, "this chat may only read. This was not allowed, .*do not retry it"},
		{"unsupported", procmgr.Unsupported{}, errors.ErrUnsupported, "[Tt]his host does not offer it"},
	} {
		for name, resolver := range map[string]toolset.Resolver{
			"manager":  toolset.Static(tt.m),
			"resolver": func(context.Context) (procmgr.Manager, error) { return nil, tt.err },
			"remote":   toolset.Static(remote(t, oneForAll{tt.m}, nil, nil)),
		} {
			t.Run(tt.name+", "+name, func(t *testing.T) {
				t.Parallel()
				set, calls := newSet(resolver, withInput), maps.Clone(anyCall)
				if tt.m != denying {
					calls["process_input"] = `{"process_id":"x","text":"y"}`
				}
				for tool, arguments := range calls {
					res := set.Call(t.Context(), toolset.Call{Name: tool, Arguments: []byte(arguments)})
					got := contents(t, res)
					require.True(t, res.IsError)
					require.Regexp(t, "nothing was (started|read|listed|sent|written|done)", got["error"])
					require.Regexp(t, tt.want, got["error"])
					require.NotRegexp(t, "(?i)try again|once more|may live", res.Content)
					require.NotContains(t, got, "process_id")
				}
			})
		}
	}
}

// A oneForAll host has one Manager for every chat.
type oneForAll struct{ procmgr.Manager }

func (h oneForAll) Chat(string) procmgr.Manager { return h.Manager }

// remote returns a chat of a client of a handler of host.
func remote(t testing.TB, host procmgr.Host, server *prochttp.HandlerOptions, client *prochttp.ClientOptions) procmgr.Manager {
	t.Helper()
	if server == nil {
		server = &prochttp.HandlerOptions{Insecure: true}
	}
	handler, err := prochttp.NewHandler(host, server)
	require.NoError(t, err)
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return chatOf(t, s.URL, client)
}

func chatOf(t testing.TB, url string, opts *prochttp.ClientOptions) procmgr.Manager {
	t.Helper()
	c, err := prochttp.NewClient(url, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c.Chat("chat")
}
