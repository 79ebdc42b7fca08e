package main

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A server serves a handler until its clients or ctx end, such as
// [prochttp.ServeStdio].
type server func(ctx context.Context, handler http.Handler) error

// withLocal runs commands in this program for a server, as long as serve takes. A sandbox
// is for all of them; nil is none. No process that it has started outlives it.
func withLocal(ctx context.Context, opts prochttp.HandlerOptions, box proclocal.Sandbox, serve func(*proclocal.Local, http.Handler) error) (err error) {
	local, err := proclocal.New(&proclocal.Options{Sandbox: box, Logger: opts.Logger})
	if err != nil {
		return err
	}
	// Last, so that no call starts a process afterwards. It ends the processes
	// that still run.
	defer func() { err = errors.Join(err, local.Close()) }()
	opts.Context = ctx // when it ends, the waits are answered
	handler, err := prochttp.NewHandler(local, &opts)
	if err != nil {
		return err
	}
	return unasked(ctx, serve(local, handler))
}

// unasked returns an error, or nil if it is only that ctx has ended.
func unasked(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// on is the server on a listener.
func on(listener net.Listener, log *slog.Logger) server {
	return func(ctx context.Context, handler http.Handler) error {
		s := &http.Server{
			Handler: handler,
			// The handler itself sets the deadlines of the body of a request and
			// of the answer, because some answers wait for minutes.
			ReadHeaderTimeout: 10 * time.Second,
			IdleTimeout:       2 * time.Minute,
			MaxHeaderBytes:    64 << 10, // the limit of the handler is lower, and its error says so
			ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		}
		failed := make(chan error, 1)
		go func() { failed <- s.Serve(listener) }() // Close ends it
		select {
		case err := <-failed:
			return err
		case <-ctx.Done():
		}
		// By now, every wait has been answered or is about to be.
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		return errors.Join(s.Shutdown(grace), s.Close())
	}
}

// listenTLS listens on an address with a certificate. Without TLS, anybody who
// listens in on the network would get the token. hosts are the names of the
// certificate, for HandlerOptions.Hosts: under any other name, a request may come
// from a web page.
func listenTLS(address, cert, key string) (listener net.Listener, hosts []string, err error) {
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, nil, err
	}
	listener, err = tls.Listen("tcp", address, &tls.Config{
		Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13, NextProtos: []string{"h2", "http/1.1"},
	})
	return listener, pair.Leaf.DNSNames, err
}

// readToken reads a token. If others can read the file, it refuses the token,
// because anybody may have it by now.
func readToken(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	const others fs.FileMode = 0o077
	if runtime.GOOS != "windows" && info.Mode().Perm()&others != 0 {
		return "", xerrors.Errorf("others can read or write the token in %s: make a new one, with mode 0600", name)
	}
	content, err := io.ReadAll(io.LimitReader(f, 4<<10))
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(content))
	if token == "" {
		return "", xerrors.Errorf("there is no token in %s", name)
	}
	return token, nil
}
