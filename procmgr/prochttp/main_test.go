package prochttp_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/leftover"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// TestMain fails the run if it leaves a wait, a connection or a process behind.
func TestMain(m *testing.M) {
	if os.Getenv(farSideVariable) != "" {
		os.Exit(farSide())
	}
	os.Exit(leftover.Run(m, "toolproc/procmgr"))
}

// farSideVariable makes this program the far side of a Dial.
const farSideVariable = "PROCHTTP_TEST_FARSIDE"

// farSide runs the program that ssh and the like would run.
func farSide() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	l, err := proclocal.New(nil)
	if err == nil {
		defer func() { _ = l.Close() }() // the test looks for what it leaves behind
		handler, failed := prochttp.NewHandler(l, &prochttp.HandlerOptions{Insecure: true, Context: ctx})
		if err = failed; err == nil {
			err = prochttp.ServeStdio(ctx, handler)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// long is a time that a test waits only if something is wrong.
const long = 30 * time.Second

// token is the token of the handlers of the tests.
const token = "correct-horse-battery-staple"

// newLocal returns a Local that the test closes.
func newLocal(t testing.TB, opts *proclocal.Options) *proclocal.Local {
	t.Helper()
	l, err := proclocal.New(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

// newHandler returns a handler with the options. If they are nil, it wants the
// token.
func newHandler(t testing.TB, h procmgr.Host, opts *prochttp.HandlerOptions) http.Handler {
	t.Helper()
	if opts == nil {
		opts = &prochttp.HandlerOptions{Token: token}
	}
	handler, err := prochttp.NewHandler(h, opts)
	require.NoError(t, err)
	return handler
}

// serve serves a handler on loopback and returns its URL.
func serve(t testing.TB, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// newClient returns a client with the options. If they are nil, it sends the
// token.
func newClient(t testing.TB, url string, opts *prochttp.ClientOptions) *prochttp.Client {
	t.Helper()
	if opts == nil {
		opts = &prochttp.ClientOptions{Token: token}
	}
	c, err := prochttp.NewClient(url, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// overTLS returns a client of a host over TLS and HTTP/2.
func overTLS(t testing.TB, h procmgr.Host) *prochttp.Client {
	t.Helper()
	server := httptest.NewUnstartedServer(newHandler(t, h, nil))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return newClient(t, server.URL, &prochttp.ClientOptions{Token: token, TLS: &tls.Config{RootCAs: roots}, Retry: patience})
}

// overUnix is a client over a unix socket.
func overUnix(t testing.TB, h procmgr.Host) *prochttp.Client {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := prochttp.ListenUnix(path)
	require.NoError(t, err)
	serveOn(t, l, newHandler(t, h, &prochttp.HandlerOptions{Insecure: true}))
	return newClient(t, "unix://"+path, &prochttp.ClientOptions{})
}

// serveOn serves a handler on a listener until the test ends.
func serveOn(t testing.TB, l net.Listener, handler http.Handler) *http.Server {
	t.Helper()
	server := &http.Server{Handler: handler, ReadTimeout: time.Second, WriteTimeout: time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() {
		require.NoError(t, server.Close())
		<-done
	})
	return server
}

// start starts a command, which must succeed.
func start(t testing.TB, m procmgr.Manager, req procmgr.StartRequest) procmgr.Output {
	t.Helper()
	out, err := m.Start(t.Context(), req)
	require.NoError(t, err)
	return out
}

// output reads the output of a process that must be known.
func output(t testing.TB, m procmgr.Manager, id string, req procmgr.OutputRequest) procmgr.Output {
	t.Helper()
	out, err := m.Output(t.Context(), id, req)
	require.NoError(t, err)
	return out
}

// list returns all processes of a manager.
func list(t testing.TB, m procmgr.Manager) []procmgr.Process {
	t.Helper()
	page, err := m.List(t.Context(), procmgr.ListRequest{})
	require.NoError(t, err)
	return page.Processes
}

// run starts a command and waits for its end.
func run(t testing.TB, m procmgr.Manager, command string) procmgr.Output {
	t.Helper()
	return start(t, m, procmgr.StartRequest{Command: command, Wait: long})
}

// ready waits until a process has printed a line.
func ready(t testing.TB, m procmgr.Manager, id, line string) procmgr.Output {
	t.Helper()
	out := output(t, m, id, procmgr.OutputRequest{Until: line, Wait: long})
	require.True(t, out.Matched, "%q", out.Text)
	return out
}

// begin starts a command in the background and waits until it has printed
// "ready".
func begin(t testing.TB, m procmgr.Manager, command string) procmgr.Output {
	t.Helper()
	out := start(t, m, procmgr.StartRequest{Command: command, Background: true})
	return ready(t, m, out.Process.ID, "^ready$")
}

// ended waits until nothing of a process is left.
func ended(t testing.TB, m procmgr.Manager, id string) procmgr.Output {
	t.Helper()
	for range 100 {
		out, err := m.Output(context.Background(), id, procmgr.OutputRequest{Wait: long})
		require.NoError(t, err)
		if out.Process.State == procmgr.Exited {
			return out
		}
	}
	require.Fail(t, "it does not end")
	return procmgr.Output{}
}
