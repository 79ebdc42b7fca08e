// Package servertest_test has the tests and the Examples of package procnats. They
// all need a NATS server, so the package is in a module of its own: users of
// procnats don't get the server into their module graph.
package servertest_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/contrib/procnats"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// TestMain fails the run if it leaves goroutines, children or descriptors
// behind.
func TestMain(m *testing.M) {
	code := m.Run()
	if left := leftBehind(); code == 0 && left != "" {
		fmt.Fprintln(os.Stderr, "left behind by the tests:", left)
		code = 1
	}
	os.Exit(code)
}

// long is a time that a test waits only if something is wrong.
const long = 30 * time.Second

// newServer runs a NATS server without any permissions.
func newServer(t testing.TB, opts *server.Options) *server.Server {
	t.Helper()
	if opts == nil {
		opts = &server.Options{}
	}
	opts.Host, opts.NoLog, opts.NoSigs = "127.0.0.1", true, true
	if opts.Port == 0 {
		opts.Port = server.RANDOM_PORT
	}
	s, err := server.NewServer(opts)
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	require.True(t, s.ReadyForConnections(long))
	return s
}

// connect connects to a server until the test ends.
func connect(t testing.TB, url string, opts ...nats.Option) *nats.Conn {
	t.Helper()
	opts = append([]nats.Option{nats.MaxReconnects(-1), nats.ReconnectBufSize(-1), nats.ReconnectWait(20 * time.Millisecond), nats.ReconnectJitter(0, 0)}, opts...)
	nc, err := nats.Connect(url, opts...)
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	return nc
}

// newLocal returns a Local that the test closes.
func newLocal(t testing.TB) *proclocal.Local {
	t.Helper()
	l, err := proclocal.New(nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

// newHandler returns a handler of a Host.
func newHandler(t testing.TB, h procmgr.Host) http.Handler {
	t.Helper()
	handler, err := prochttp.NewHandler(h, &prochttp.HandlerOptions{Insecure: true})
	require.NoError(t, err)
	return handler
}

// serve serves a handler as a machine until the test ends.
func serve(t testing.TB, nc *nats.Conn, name string, handler http.Handler, opts *procnats.Options) *procnats.Service {
	t.Helper()
	s, err := procnats.Serve(context.WithoutCancel(t.Context()), nc, name, handler, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// newClient returns a client of a machine.
func newClient(t testing.TB, nc *nats.Conn, name string) *prochttp.Client {
	t.Helper()
	return newClientOver(t, procnats.Transport(nc, name), 0)
}

func newClientOver(t testing.TB, over http.RoundTripper, retry time.Duration) *prochttp.Client {
	t.Helper()
	c, err := prochttp.NewClient("http://localhost", &prochttp.ClientOptions{Transport: over, Retry: retry})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// machine returns the name of a test's machine.
func machine(t testing.TB) string {
	sum := sha256.Sum256([]byte(t.Name()))
	return "m" + hex.EncodeToString(sum[:8])
}
