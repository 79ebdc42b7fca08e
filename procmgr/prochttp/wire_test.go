package prochttp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A server that was restarted may have another shell.
func TestDescribeAfterARestart(t *testing.T) {
	begin := func(shell string) (url string) {
		return serve(t, newHandler(t, newLocal(t, &proclocal.Options{Shell: []string{shell, "-c"}}), nil))
	}
	p := newProxy(t, begin("bash"))
	c := newClient(t, p.url, nil)
	machine, err := c.Describe(t.Context())
	require.NoError(t, err)
	require.Equal(t, "bash", machine.Shell)
	other := "sh"
	if runtime.GOOS == "windows" { // its sh is a bash
		other = "cmd"
	}
	p.set(func(p *proxy) { p.backend = begin(other) })
	_, err = c.List(t.Context(), procmgr.ListRequest{})
	require.NoError(t, err)
	machine, err = c.Describe(t.Context())
	require.NoError(t, err)
	require.Equal(t, other, machine.Shell)
}

type spanKey struct{}

// A spans is a host that notes the span of each start.
type spans struct {
	actor
	reached *[]string
}

func (s spans) Start(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	*s.reached = append(*s.reached, ctx.Value(spanKey{}).(string))
	return procmgr.Output{Process: procmgr.Process{ID: req.ID}}, nil
}

// What Inject adds for the context of a call is in each request of it, and the Host is
// called with the context of the request.
func TestInject(t *testing.T) {
	var reached []string
	handler := newHandler(t, spans{actor{t: t, out: web()}, &reached}, nil)
	var mu sync.Mutex
	var got []string
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		span := r.Header.Get("Traceparent")
		mu.Lock()
		got = append(got, span)
		mu.Unlock()
		handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), spanKey{}, span)))
	}))
	client := newClient(t, url, &prochttp.ClientOptions{Token: token, Inject: func(ctx context.Context, h http.Header) {
		if span, ok := ctx.Value(spanKey{}).(string); ok {
			h.Set("Traceparent", span)
		}
	}})
	for _, span := range []string{"one", "two"} {
		_, err := client.Start(context.WithValue(t.Context(), spanKey{}, span), procmgr.StartRequest{ID: span, Command: "true"})
		require.NoError(t, err)
	}
	output(t, client, "web", procmgr.OutputRequest{Wait: time.Millisecond})
	require.Equal(t, []string{"one", "two"}, reached)
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, []string{"one", "two", ""}, slices.Compact(got), "the first call also asks which server it is")
}

// An error of an input has what was written before it.
func TestWrittenBeforeAnError(t *testing.T) {
	c := newClient(t, serve(t, newHandler(t, actor{t: t, out: python(), err: procmgr.ErrNotRunning}, nil)), nil)
	out, err := c.Chat("a").Input(t.Context(), "repl", procmgr.InputRequest{Data: []byte("print(6*7)\nx")})
	require.ErrorIs(t, err, procmgr.ErrNotRunning)
	require.Equal(t, 11, out.Written)
	require.Equal(t, python().Text, out.Text)
}

// What some machines have given, and which ones are missing, crosses the wire,
// also through a chain of servers.
func TestPartialOverTheWire(t *testing.T) {
	partly := &procmgr.PartialError{Missing: map[string]error{"deaf": context.DeadlineExceeded}}
	host := actor{err: partly, list: []procmgr.Process{web().Process}, page: procmgr.EventPage{Next: "x", Events: make([]procmgr.Event, 2)}}
	inner := newClient(t, serve(t, newHandler(t, host, nil)), nil)
	outer := newClient(t, serve(t, newHandler(t, inner, nil)), nil)
	for _, h := range []procmgr.Host{inner, outer} {
		isMissing := func(err error) {
			t.Helper()
			var partial *procmgr.PartialError
			require.ErrorAs(t, err, &partial)
			require.Len(t, partial.Missing, 1)
			require.EqualError(t, partial.Missing["deaf"], "context deadline exceeded")
			require.NotErrorIs(t, err, procmgr.ErrNotFound)
		}
		page, err := h.List(t.Context(), procmgr.ListRequest{})
		isMissing(err)
		require.Len(t, page.Processes, 1)
		require.Equal(t, "web", page.Processes[0].ID)
		events, err := h.Events(t.Context(), procmgr.EventsRequest{})
		isMissing(err)
		require.Len(t, events.Events, 2)
		require.Equal(t, "x", events.Next)
		_, err = h.Output(t.Context(), "nobody", procmgr.OutputRequest{})
		isMissing(err)
		isMissing(h.Signal(t.Context(), "nobody", procmgr.Kill))
	}
}

// speaking changes the version that the client of a handler says it speaks, or the
// one that the handler says, in calls of a path; "" leaves it as it is, and "-" takes it
// away.
func speaking(h http.Handler, path, client, server string) http.Handler {
	set := func(header http.Header, version string) {
		switch version {
		case "":
		case "-":
			header.Del("Toolproc-Protocol")
		default:
			header.Set("Toolproc-Protocol", version)
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, path) {
			h.ServeHTTP(w, r)
			return
		}
		set(r.Header, client)
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, r)
		set(answer.Header(), server)
		passOn(w, answer)
	})
}

// A client and a server of two versions refuse each other: the error names both
// versions, and nothing is started. What a server has done although it was not refused is
// unknown: its answer may mean something else.
func TestOtherVersion(t *testing.T) {
	for _, test := range []struct {
		name                 string
		path, client, server string
		want                 string // "" is no error
	}{
		{"the same", "/", "", "", ""},
		{"a client that does not say it", "/", "-", "", ""},
		{"a server that does not say it", "/", "", "-", ""},
		{"another client", "/", "2", "", `the client speaks version "2" of the protocol, and this server version "1": run the same version`},
		{"another server", "/", "1", "2", `the server speaks version "2" of the protocol, and this client version "1": run the same version`},
		{"both are another one", "/", "2", "2", `the server speaks version "2" of the protocol, and this client version "1": run the same version`},
		{"a server that has become another one", "/start", "", "2", `the server speaks version "2"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLocal(t, nil)
			h := newHandler(t, l, nil)
			c := newClient(t, serve(t, speaking(h, test.path, test.client, test.server)), nil)
			out, err := c.Start(t.Context(), procmgr.StartRequest{ID: "a", Command: "true", Wait: long})
			_, listed := c.List(t.Context(), procmgr.ListRequest{})
			if test.want == "" {
				require.NoError(t, err)
				require.NoError(t, listed)
				return
			}
			require.ErrorContains(t, err, test.want)
			if test.path == "/start" {
				require.ErrorIs(t, err, procmgr.ErrUnknown)
				require.Equal(t, "a", out.Process.ID)
				return
			}
			require.ErrorContains(t, listed, test.want)
			require.ErrorIs(t, err, procmgr.ErrInvalid)
			require.NotErrorIs(t, err, procmgr.ErrUnknown)
			require.Empty(t, list(t, l))
		})
	}
}
