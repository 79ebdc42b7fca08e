package toolset_test

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// If a call is denied or not offered, the result quotes the reason and does not tell the
// model to try again, whichever tool it was and however far away the answer was made.
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
	const denied, lacking = "this chat may only read.* do not retry it", "[Tt]his host does not offer it"
	failing := func(err error) toolset.Resolver {
		return func(context.Context) (procmgr.Manager, error) { return nil, err }
	}
	for _, tt := range []struct {
		name     string
		resolver toolset.Resolver
		want     string
	}{
		{"denied by the manager", toolset.Static(denying), denied},
		{"denied by the resolver", failing(why), denied},
		{"denied far away", toolset.Static(remote(t, oneForAll{denying}, nil, nil)), denied},
		{"unsupported by the manager", toolset.Static(procmgr.Unsupported{}), lacking},
		{"unsupported by the resolver", failing(errors.ErrUnsupported), lacking},
		{"unsupported far away", toolset.Static(remote(t, oneForAll{procmgr.Unsupported{}}, nil, nil)), lacking},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			set := toolset.New(tt.resolver, withInput)
			calls := maps.Clone(anyCall)
			if tt.want == lacking {
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

// Once a manager has said that it takes no input, no note advises to send it some.
func TestNoInputIsAdvised(t *testing.T) {
	t.Parallel()
	var m procmgr.Manager
	set := newSet(func(context.Context) (procmgr.Manager, error) { return m, nil }, &toolset.Options{Input: true})
	asks := running("p1", "Proceed? [y/N] ")
	asks.Process.Stdin, asks.Process.Elapsed = procmgr.StdinPipe, time.Minute
	advised := func() bool {
		t.Helper()
		start := set.Call(t.Context(), toolset.Call{Name: "execute", Arguments: []byte(`{"command":"x","stdin":"open"}`)})
		read := set.Call(t.Context(), toolset.Call{Name: "process_output", Arguments: []byte(`{"process_id":"p1"}`)})
		advised := strings.Contains(start.Content, "process_input")
		require.Equal(t, advised, strings.Contains(read.Content, "process_input"), read.Content)
		return advised
	}
	one := &fake{start: answerStart(asks), output: answerOutput(asks)}
	another := &fake{start: answerStart(asks), output: answerOutput(asks)}
	m = one
	require.True(t, advised())
	res := set.Call(t.Context(), toolset.Call{Name: "process_input", Arguments: []byte(`{"process_id":"p1","text":"y"}`)})
	require.Contains(t, res.Content, "this host does not offer it")
	require.False(t, advised())
	m = another
	require.True(t, advised(), "another manager may take input")
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

// refusing returns the URL of a port without a listener. A connection of the test
// begins at that port, so that no other program gets it meanwhile.
func refusing(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	conn, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return "http://" + conn.LocalAddr().String()
}

// A start that cannot have reached the server, or that was turned away at its
// door, is told as one that ran nothing: the model may run the command again. Package
// prochttp has the other ways not to reach it.
func TestRemoteStartThatRanNothing(t *testing.T) {
	t.Parallel()
	ending, end := context.WithCancel(t.Context())
	end()
	impatient := &prochttp.ClientOptions{Retry: 50 * time.Millisecond}
	elsewhere := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(elsewhere.Close)
	behind := func(server *prochttp.HandlerOptions, client *prochttp.ClientOptions) procmgr.Manager {
		return remote(t, oneForAll{&fake{start: func(context.Context, procmgr.StartRequest) (procmgr.Output, error) {
			t.Error("a start has reached the host")
			return procmgr.Output{}, procmgr.ErrUnknown
		}}}, server, client)
	}
	for _, tt := range []struct {
		name string
		m    procmgr.Manager
		want string
	}{
		{"wrong token", behind(&prochttp.HandlerOptions{Token: "t0ken"}, &prochttp.ClientOptions{Token: "wrong"}), "the credentials are missing or wrong"},
		{"another chat", behind(&prochttp.HandlerOptions{Authorize: func(*http.Request) (prochttp.Scope, error) {
			return prochttp.Scope{Chats: func(id string) bool { return id == "another" }}, nil
		}}, nil), "this caller may not act for this chat"},
		{"server that is about to end", behind(&prochttp.HandlerOptions{Insecure: true, Context: ending}, impatient), "shutting down"},
		{"refused connection", chatOf(t, refusing(t), impatient), "refused"},
		{"socket that is not there", chatOf(t, "unix:///no/such/directory/socket", impatient), "the server cannot be reached"},
		{"another kind of server", chatOf(t, elsewhere.URL, nil), "no toolproc server"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			set := toolset.New(toolset.Static(tt.m), nil)
			res := set.Call(t.Context(), toolset.Call{Name: "execute", Arguments: []byte(`{"command":"x"}`)})
			got := contents(t, res)
			require.True(t, res.IsError)
			require.Regexp(t, "^nothing was started: ", got["error"])
			require.Contains(t, got["error"], tt.want)
			require.NotRegexp(t, "unknown whether|run it again|t0ken", res.Content)
			require.NotContains(t, got, "process_id")
		})
	}
}

// A stop while no server can be reached leaves nothing open, and does not keep
// the user waiting.
func TestStopBeforeAnythingWasSent(t *testing.T) {
	t.Parallel()
	nobody := refusing(t)
	set := newSet(toolset.Static(chatOf(t, nobody, &prochttp.ClientOptions{Retry: time.Hour})), nil)
	for _, tt := range []struct {
		name    string
		context func(context.Context) (context.Context, context.CancelFunc)
		want    string
	}{
		{"cancel", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(100*time.Millisecond, cancel)
			return ctx, cancel
		}, "^the call was canceled; (the command was not|nothing was) started$"},
		{"deadline", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 100*time.Millisecond)
		}, "^the call ran out of time; nothing was started$"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := tt.context(t.Context())
			defer cancel()
			got := contents(t, set.Call(ctx, toolset.Call{Name: "execute", Arguments: []byte(`{"command":"x"}`)}))
			require.Regexp(t, tt.want, got["error"])
			require.NotContains(t, got, "process_id")
		})
	}
}
