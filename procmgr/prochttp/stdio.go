package prochttp

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"golang.org/x/xerrors"
)

// shutdownTime is how long ServeStdio waits for the answers of requests after
// its context has ended.
const shutdownTime = 5 * time.Second

// maxStreams is how many requests a connection of ServeStdio carries at a time.
// It is far above the default of HandlerOptions.MaxWaiters, which is the limit
// that a client understands.
const maxStreams = 1 << 16

// ServeStdio serves a handler to the one client at the other end of stdin and stdout,
// which connects through [Command]. It is the far side of ssh, docker exec -i, kubectl
// exec -i and the like:
//
//	handler, err := prochttp.NewHandler(local, &prochttp.HandlerOptions{Insecure: true})
//	…
//	err = prochttp.ServeStdio(ctx, handler)
//
// Insecure is right there: the caller was authenticated when it ran the command.
//
// ServeStdio returns nil when stdin ends, and also when the client has not answered a
// ping for 5 s, or has not begun to speak HTTP/2 within 15 s, because docker and
// kubectl leave the command behind if they lose their connection. If ctx ends, requests
// have 5 s for their answers, and ServeStdio returns ctx's error. When it returns, no
// request is in the handler any more. The program should end then: one goroutine may
// still read stdin.
//
// Nothing else may write to stdout. Log to stderr: [Command] quotes it if the
// connection fails. From the call on, SIGPIPE no longer ends the program, because it
// still has to close what it serves after the connection is lost and stdout and stderr
// take no more bytes.
func ServeStdio(ctx context.Context, handler http.Handler) error {
	outlivePipes()
	if err := serveStdio(ctx, handler, os.Stdin, os.Stdout, pingTime+pongTime); err != nil {
		return xerrors.Errorf("prochttp: serve stdio: %w", err)
	}
	return nil
}

// serveStdio serves a handler to the client behind in and out. It gives up a client
// that has not begun to speak HTTP/2 after begin, because until then there are no
// pings.
func serveStdio(ctx context.Context, handler http.Handler, in io.Reader, out io.Writer, begin time.Duration) error {
	// Reads of stdin have no deadline, and Close does not end them. A pipe in between
	// supports both.
	near, far := net.Pipe()
	go func() { // ends with stdin
		_, _ = io.Copy(far, in) // the end of stdin, whatever its reason, is the end of the connection
		far.Close()
	}()
	go func() { // ends with the connection, or when stdout takes its bytes
		_, _ = io.Copy(out, far)
		far.Close()
	}()

	var requests sync.WaitGroup // and the connection, which comes before them and ends after them
	ended := make(chan struct{})
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			defer requests.Done()
			r.Host = "localhost" // the URL of the client names anything, and no browser comes this way
			handler.ServeHTTP(w, r)
		}),
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				requests.Add(1)
			case http.StateClosed:
				close(ended)
				requests.Done()
			}
		},
		ReadHeaderTimeout: begin,
		Protocols:         new(http.Protocols),
		HTTP2:             &http.HTTP2Config{SendPingTimeout: pingTime, PingTimeout: pongTime, MaxConcurrentStreams: maxStreams},
	}
	server.Protocols.SetUnencryptedHTTP2(true)
	conns := make(onlyListener, 1)
	conns <- near
	served := make(chan struct{})
	go func() { // waited for below
		defer close(served)
		_ = server.Serve(conns) // it returns when the server is closed
	}()

	var err error
	select {
	case <-ended:
	case <-ctx.Done():
		err = ctx.Err()
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
		defer cancel()
		_ = server.Shutdown(late) // what is not answered by then is cut
	}
	// Nothing is left that these could fail to close.
	_ = server.Close()
	_ = near.Close()
	<-served
	requests.Wait()
	return err
}

// An onlyListener has one connection.
type onlyListener chan net.Conn

// Accept implements [net.Listener].
func (l onlyListener) Accept() (net.Conn, error) {
	if conn, ok := <-l; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

// Close implements [net.Listener]. http.Server calls it once.
func (l onlyListener) Close() error {
	close(l)
	return nil
}

// Addr implements [net.Listener].
func (l onlyListener) Addr() net.Addr { return commandAddr("stdin and stdout") }
