package toolset_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// If a call is denied, the result quotes the reason and tells the model not to
// try again, whichever tool it was and however far away the denial was made.
func TestDenied(t *testing.T) {
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
	for name, resolver := range map[string]toolset.Resolver{
		"manager":  toolset.Static(denying),
		"resolver": func(context.Context) (procmgr.Manager, error) { return nil, why },
		"remote":   toolset.Static(remote(t, oneForAll{denying}, nil, nil)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := newSet(resolver, nil)
			for tool, arguments := range anyCall {
				res := set.Call(t.Context(), toolset.Call{Name: tool, Arguments: []byte(arguments)})
				got := contents(t, res)
				require.True(t, res.IsError)
				require.Regexp(t, "^nothing was (started|read|listed|sent|done): ", got["error"])
				require.Contains(t, got["error"], "this chat may only read")
				require.Contains(t, got["error"], "do not retry it")
				require.NotContains(t, strings.ToLower(res.Content), "once more")
				require.NotContains(t, got, "process_id")
			}
		})
	}
}

// If the host does not offer a call, the result says so, and does not tell the model
// to try again, however far away the host is.
func TestUnsupported(t *testing.T) {
	t.Parallel()
	for name, resolver := range map[string]toolset.Resolver{
		"manager":  toolset.Static(procmgr.Unsupported{}),
		"resolver": func(context.Context) (procmgr.Manager, error) { return nil, errors.ErrUnsupported },
		"remote":   toolset.Static(remote(t, oneForAll{procmgr.Unsupported{}}, nil, nil)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := newSet(resolver, &toolset.Options{Input: true})
			for tool, arguments := range map[string]string{
				"execute":        `{"command":"x"}`,
				"process_output": `{"process_id":"x"}`,
				"process_list":   `{}`,
				"process_signal": `{"process_id":"x","signal":"kill"}`,
				"process_input":  `{"process_id":"x","text":"y"}`,
			} {
				res := set.Call(t.Context(), toolset.Call{Name: tool, Arguments: []byte(arguments)})
				got := contents(t, res)
				require.True(t, res.IsError)
				require.Regexp(t, "nothing was (started|read|listed|sent|written|done)", got["error"])
				require.Regexp(t, "[Tt]his host does not offer it", got["error"])
				require.NotRegexp(t, "(?i)try again|once more|may live", res.Content)
				require.NotContains(t, got, "process_id")
			}
		})
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
