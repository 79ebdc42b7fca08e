package prochttp_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// effects returns a command that adds a line to a file, and a function that
// counts the lines.
func effects(t testing.TB) (command string, count func() int) {
	t.Helper()
	file := filepath.ToSlash(filepath.Join(t.TempDir(), "effects"))
	return "echo ran >> " + file + "; echo done; exit 7", func() int {
		data, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			return 0
		}
		require.NoError(t, err)
		return strings.Count(string(data), "ran\n")
	}
}

// Whatever happens to a request or its answer, the command runs once, and the
// caller gets its result.
func TestFaultOfAStart(t *testing.T) {
	for _, what := range []fault{lostRequest, lostAnswer, cutAnswer, badGateway} {
		for _, id := range []string{"", "mine"} {
			t.Run(what.String()+" "+id, func(t *testing.T) {
				p := newProxy(t, serve(t, newHandler(t, newLocal(t, nil), nil)))
				c := newClient(t, p.url, nil)
				p.set(func(p *proxy) { p.plan = once("/start", what) })
				command, ran := effects(t)
				out := start(t, c.Chat("a"), procmgr.StartRequest{ID: id, Command: command, Wait: long})
				require.Equal(t, 7, *out.Process.ExitCode)
				require.Equal(t, "done\n", out.Text)
				require.Equal(t, 1, ran())
				require.Equal(t, 2, p.count("/start"))
				require.Equal(t, id != "" && what != lostRequest, out.Attached, "who made its ID up knows that nobody else used it")
			})
		}
	}
}

// A signal is sent once: a second SIGINT makes many programs give up their
// clean-up.
func TestFaultOfASignal(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no signals to catch")
	}
	for _, what := range []fault{lostRequest, lostAnswer, cutAnswer, badGateway} {
		t.Run(what.String(), func(t *testing.T) {
			p := newProxy(t, serve(t, newHandler(t, newLocal(t, nil), nil)))
			c := newClient(t, p.url, nil)
			m := c.Chat("a")
			id := begin(t, m, `trap 'echo caught' INT; trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.01; done`).Process.ID
			p.set(func(p *proxy) { p.plan = once("/signal", what) })
			require.NoError(t, m.Signal(t.Context(), id, procmgr.Interrupt))
			require.Equal(t, 2, p.count("/signal"))
			p.set(func(p *proxy) { p.plan = once("/signal", what) })
			ready(t, m, id, "caught")
			require.NoError(t, m.Signal(t.Context(), id, procmgr.Terminate), "it ended by this signal, and not before")
			text := ended(t, m, id).Text
			require.Equal(t, 1, strings.Count(text, "caught"))
			require.Equal(t, 1, strings.Count(text, "bye"))
		})
	}
}

// Many callers use a connection that loses every third request or answer.
func TestHeldFaultsAtRandom(t *testing.T) {
	testenv.Held(t)
	p := newProxy(t, serve(t, newHandler(t, newLocal(t, nil), nil)))
	c := newClient(t, p.url, nil)
	p.set(func(p *proxy) {
		p.plan = func(r *http.Request) fault {
			if rand.N(3) > 0 {
				return none
			}
			return fault(1 + rand.N(4))
		}
	})
	dir := filepath.ToSlash(t.TempDir())
	const callers, each = 8, 12
	var wg sync.WaitGroup
	errs := make(chan error, callers*each)
	for caller := range callers {
		wg.Go(func() {
			m := c.Chat(fmt.Sprint("chat-", caller))
			for i := range each {
				name := fmt.Sprintf("%d-%d", caller, i)
				out, err := m.Start(t.Context(), procmgr.StartRequest{
					Command: fmt.Sprintf("echo ran >> %s; echo %s; exit %d", dir+"/"+name, name, i),
					Wait:    long,
				})
				if err == nil && (*out.Process.ExitCode != i || out.Text != name+"\n") {
					err = fmt.Errorf("%s: %+v", name, out)
				}
				errs <- err
			}
		})
	}
	wg.Wait()
	for range callers * each {
		require.NoError(t, <-errs)
	}
	for caller := range callers {
		for i := range each {
			data, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%d-%d", caller, i)))
			require.NoError(t, err)
			require.Equal(t, "ran\n", string(data), "each command runs once")
		}
	}
}

// A wait outlives ten servers in a row that are each gone after a while, even if
// the time of the retries is used up before that.
func TestWaitOutlivesItsServers(t *testing.T) {
	t.Parallel()
	local := newLocal(t, nil)
	handler := newHandler(t, local, nil)
	server := httptest.NewServer(handler)
	p := newProxy(t, server.URL)
	m := newClient(t, p.url, &prochttp.ClientOptions{Token: token, Retry: 500 * time.Millisecond}).Chat("a")
	file := filepath.ToSlash(filepath.Join(t.TempDir(), "go"))
	id := begin(t, local.Chat("a"), "echo ready; while [ ! -e "+file+" ]; do sleep 0.01; done; echo done").Process.ID

	var waits sync.WaitGroup
	latest := events(t, m, procmgr.EventsRequest{Limit: -1}).Next
	waits.Go(func() {
		out, err := m.Output(t.Context(), id, procmgr.OutputRequest{Wait: 2 * long, Until: "^never$"})
		assert.NoError(t, err)
		assert.Equal(t, "ready\ndone\n", out.Text)
	})
	waits.Go(func() {
		page, err := m.Events(t.Context(), procmgr.EventsRequest{After: latest, Wait: 2 * long})
		assert.NoError(t, err)
		assert.Equal(t, []string{id + " exited"}, kinds(page))
	})
	for range 10 {
		require.Eventually(t, func() bool { return prochttp.Waiters(handler) == 2 }, long, time.Millisecond, "a wait is over")
		time.Sleep(100 * time.Millisecond) // for so long it lives
		handler = newHandler(t, local, nil)
		next := httptest.NewServer(handler)
		p.set(func(p *proxy) { p.backend = next.URL })
		server.CloseClientConnections()
		server.Close()
		server = next
	}
	t.Cleanup(server.Close)
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	waits.Wait()
}

// A server that was restarted does not know the IDs that were used. A client that was
// idle meanwhile starts a command as if nothing had happened.
func TestRestartedServer(t *testing.T) {
	p := newProxy(t, serve(t, newHandler(t, newLocal(t, nil), nil)))
	m := newClient(t, p.url, nil).Chat("a")
	command, ran := effects(t)
	start(t, m, procmgr.StartRequest{ID: "x", Command: command, Wait: long})
	p.set(func(p *proxy) { p.backend = serve(t, newHandler(t, newLocal(t, nil), nil)) })
	out := start(t, m, procmgr.StartRequest{ID: "fresh", Command: command, Wait: long})
	require.Equal(t, 7, *out.Process.ExitCode)
	require.False(t, out.Attached)
	require.Equal(t, 2, ran())
	_, err := m.Output(t.Context(), "x", procmgr.OutputRequest{})
	for _, err := range []error{err, m.Signal(t.Context(), "x", procmgr.Kill)} {
		require.ErrorIs(t, err, procmgr.ErrNotFound)
		require.ErrorIs(t, err, procmgr.ErrUnknown)
		require.ErrorContains(t, err, "the server was restarted since")
	}

	// A new command is not affected, with an ID of its own or without.
	for _, id := range []string{"", "y"} {
		out = start(t, m, procmgr.StartRequest{ID: id, Command: "exit 4", Wait: long})
		require.Equal(t, 4, *out.Process.ExitCode)
	}
}

// A start that arrives after its own stop runs nothing.
func TestStopOvertakesStart(t *testing.T) {
	p := newProxy(t, serve(t, newHandler(t, newLocal(t, nil), nil)))
	c := newClient(t, p.url, nil)
	m := c.Chat("a")
	_, err := m.List(t.Context(), procmgr.ListRequest{})
	require.NoError(t, err)

	held, release := make(chan struct{}), make(chan struct{})
	p.set(func(p *proxy) {
		p.before = onStart(func() {
			close(held)
			<-release
		})
		p.plan = every("/start", lostAnswer) // the caller is gone, but its request is not
	})
	command, ran := effects(t)
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		<-held
		stop()
	}()
	out, err := m.Start(ctx, procmgr.StartRequest{ID: "x", Command: command, Wait: long})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, "x", out.Process.ID, "it may have begun")
	require.ErrorIs(t, m.Signal(t.Context(), "x", procmgr.Terminate), procmgr.ErrNotFound)
	p.set(func(p *proxy) { p.before, p.plan = nil, nil })
	close(release)
	_, err = m.Start(t.Context(), procmgr.StartRequest{ID: "x", Command: command, Wait: long})
	require.ErrorIs(t, err, procmgr.ErrConflict)
	require.Zero(t, ran())
	require.Equal(t, 2, p.count("/start"), "one of each call")
}

// If the timeouts of the server are shorter than a wait, they do not end it, even
// with middleware in between.
func TestTimeoutsOfTheServer(t *testing.T) {
	t.Parallel()
	handler := newHandler(t, newLocal(t, nil), nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	serveOn(t, l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // its timeouts are 1 s
		handler.ServeHTTP(unwrapper{w}, r)
	}))
	p := newProxy(t, "http://"+l.Addr().String())
	require.Equal(t, "late\n", run(t, newClient(t, p.url, nil).Chat("a"), "sleep 1.5; echo late").Text)
	require.Equal(t, 1, p.count("/start"), "in one request")
}

type unwrapper struct{ http.ResponseWriter }

func (u unwrapper) Unwrap() http.ResponseWriter { return u.ResponseWriter }

// A caller that goes away gives back the place of its wait, and ends no process.
func TestCallerGoesAway(t *testing.T) {
	t.Parallel()
	host := &countingHost{Local: newLocal(t, nil)}
	handler := newHandler(t, host, nil)
	c := newClient(t, serve(t, handler), nil)
	id := begin(t, host, "echo ready; exec sleep 1000").Process.ID
	waits := func(n int) {
		assert.Eventually(t, func() bool { return int(host.waiting.Load()) == n && prochttp.Waiters(handler) == n }, long, time.Millisecond)
	}
	for _, req := range []procmgr.OutputRequest{
		{Wait: 20 * time.Second},
		{Wait: time.Hour}, // takes several requests, so the handler holds it for a moment
		{Wait: time.Hour, Until: "never"},
	} {
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			waits(1)
			leave()
		}()
		_, err := c.Output(ctx, id, req)
		require.ErrorIs(t, err, context.Canceled)
		waits(0)
	}
	require.Equal(t, procmgr.Running, output(t, host, id, procmgr.OutputRequest{}).Process.State)
}

// A client that does not read its answer holds its own connection, but not for
// ever.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	local := newLocal(t, &proclocal.Options{Head: 20 << 20, OutputMemory: -1})
	out := run(t, local, "seq 2000000") // more than the buffers of a connection hold
	handler := newHandler(t, local, nil)
	prochttp.SetDeadline(handler, 300*time.Millisecond)
	served := make(chan struct{})
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(served)
		handler.ServeHTTP(w, r)
	}))
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(4<<10))
	body := fmt.Sprintf(`{"id":%q,"limit":{"bytes":-1,"line":-1}}`, out.Process.ID)
	_, err = fmt.Fprintf(conn, "POST /output HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", token, len(body), body)
	require.NoError(t, err)
	select {
	case <-served:
	case <-time.After(long):
		require.Fail(t, "the handler is stuck on a reader that does not read")
	}
}
