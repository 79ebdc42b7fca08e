package prochttp_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// A start that the other end of a socket has not read to its end has not run, and
// the client says so.
func TestUnreadStart(t *testing.T) {
	const large = 100_000 // bytes: more than one read takes
	for _, c := range []struct {
		name    string
		length  int
		fault   func(t *testing.T, conn *net.UnixConn)
		unknown bool
	}{
		{name: "idle", fault: func(*testing.T, *net.UnixConn) {}},
		{name: "unread", fault: awaitData},
		{name: "half read", fault: func(t *testing.T, conn *net.UnixConn) {
			_, err := io.ReadFull(conn, make([]byte, 20))
			require.NoError(t, err)
		}},
		{name: "half of a long one", length: large, fault: func(t *testing.T, conn *net.UnixConn) {
			_, err := io.ReadFull(conn, make([]byte, large/2))
			require.NoError(t, err)
		}},
		{name: "read", unknown: true, fault: readRequest},
		{name: "a long one is read", length: large, unknown: true, fault: readRequest},
	} {
		t.Run(c.name, func(t *testing.T) {
			for range 100 {
				target, closed := serveOnce(t, c.fault)
				client := newClient(t, target, &prochttp.ClientOptions{Retry: -1})
				_, err := client.Describe(t.Context())
				require.NoError(t, err)
				out, err := client.Start(t.Context(), procmgr.StartRequest{ID: "x", Command: "true" + strings.Repeat(" ", c.length)})
				require.Error(t, err)
				if c.unknown {
					require.ErrorIs(t, err, procmgr.ErrUnknown)
					require.Equal(t, "x", out.Process.ID)
				} else {
					require.NotErrorIs(t, err, procmgr.ErrUnknown)
					require.Empty(t, out.Process.ID)
				}
				<-closed
			}
		})
	}
}

// A connection that was never accepted has carried nothing.
func TestStartThatIsNotAccepted(t *testing.T) {
	listener, target := listenUnix(t)
	client := newClient(t, target, &prochttp.ClientOptions{Retry: -1})
	handler := newHandler(t, newLocal(t, nil), &prochttp.HandlerOptions{Insecure: true})
	served := make(chan struct{})
	go func() {
		defer close(served)
		if conn, err := listener.AcceptUnix(); err == nil {
			answerOne(conn, handler)
			_ = conn.Close()
		}
	}()
	_, err := client.Describe(t.Context())
	require.NoError(t, err)
	<-served
	failed, connected := make(chan error, 1), make(chan struct{}, 1)
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{ConnectDone: func(string, string, error) { connected <- struct{}{} }})
	go func() {
		_, err := client.Start(ctx, procmgr.StartRequest{Command: "true"})
		failed <- err
	}()
	<-connected
	require.NoError(t, listener.Close())
	err = <-failed
	require.Error(t, err)
	require.NotErrorIs(t, err, procmgr.ErrUnknown)
}

func listenUnix(t *testing.T) (*net.UnixListener, string) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	return listener, "unix://" + path
}

// serveOnce answers one request, lets a fault happen to the next one, and closes the
// connection.
func serveOnce(t *testing.T, fault func(t *testing.T, conn *net.UnixConn)) (target string, closed <-chan struct{}) {
	handler := newHandler(t, newLocal(t, nil), &prochttp.HandlerOptions{Insecure: true})
	listener, target := listenUnix(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := listener.AcceptUnix()
		if err != nil {
			return
		}
		answerOne(conn, handler)
		fault(t, conn)
		_ = conn.Close()
		_ = listener.Close()
	}()
	return target, done
}

func answerOne(conn net.Conn, handler http.Handler) {
	req, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return
	}
	rec := httptest.NewRecorder()
	handler.ServeHTTP(rec, req)
	res := rec.Result()
	res.ContentLength = int64(rec.Body.Len())
	_ = res.Write(conn)
}

// readRequest reads a request to its end.
func readRequest(t *testing.T, conn *net.UnixConn) {
	req, err := http.ReadRequest(bufio.NewReader(conn))
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, req.Body)
	require.NoError(t, err)
}

// awaitData waits until there is something to read.
func awaitData(t *testing.T, conn *net.UnixConn) {
	raw, err := conn.SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Read(func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return err != syscall.EAGAIN
	}))
}
