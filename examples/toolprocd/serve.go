package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// A server serves a handler until its clients or ctx end.
type server func(ctx context.Context, handler http.Handler) error

// serve serves on a port with TLS and a token, or on a socket that only its user
// can open.
func serve(flags *flag.FlagSet, args []string) error {
	var (
		listen    = flags.String("listen", "", "`address` to serve on, with TLS, such as :8443")
		cert      = flags.String("tls-cert", "", "`file` with the certificate")
		key       = flags.String("tls-key", "", "`file` with its key")
		tokenFile = flags.String("token-file", "", "`file` with the token that clients need")
		unix      = flags.String("unix", "", "`path` of a unix socket to serve on instead; it needs no token")
	)
	if _, err := parse(flags, args, 0, 0); err != nil {
		return err
	}
	ctx, stop := untilAsked()
	defer stop()
	switch {
	case (*unix == "") == (*listen == ""):
		return errors.New("set one of -listen and -unix")
	case *unix != "":
		listener, err := prochttp.ListenUnix(*unix)
		if err != nil {
			return err
		}
		return serveLocal(ctx, prochttp.HandlerOptions{Insecure: true}, on(listener)) // only the user of the socket can connect
	case *tokenFile == "":
		return errors.New("-listen needs -token-file: whoever calls it runs commands")
	}
	if info, err := os.Stat(*tokenFile); err != nil {
		return err
	} else if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return xerrors.Errorf("others can read or write the token in %s: make a new one, with mode 0600", *tokenFile)
	}
	token, err := os.ReadFile(*tokenFile)
	if err != nil {
		return err
	}
	pair, err := tls.LoadX509KeyPair(*cert, *key)
	if err != nil {
		return xerrors.Errorf("-listen needs -tls-cert and -tls-key, or anybody on the way could read the token: %w", err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13, NextProtos: []string{"h2", "http/1.1"}}
	listener, err := tls.Listen("tcp", *listen, config)
	if err != nil {
		return err
	}
	opts := prochttp.HandlerOptions{Token: strings.TrimSpace(string(token)), Hosts: pair.Leaf.DNSNames}
	return serveLocal(ctx, opts, on(listener))
}

// serveLocal runs commands for the clients of a server until the server ends. No
// process that it has started outlives it.
func serveLocal(ctx context.Context, opts prochttp.HandlerOptions, serve server) (err error) {
	log := warnings()
	local, err := procmgr.NewLocal(&procmgr.Options{Logger: log})
	if err != nil {
		return err
	}
	// Last, so that no call starts a process afterwards.
	defer func() { err = errors.Join(err, local.Close()) }()
	opts.Context, opts.Logger = ctx, log // when ctx ends, the waits are answered
	handler, err := prochttp.NewHandler(local, &opts)
	if err != nil {
		return err
	}
	return unasked(ctx, serve(ctx, handler))
}

// on serves on a listener until ctx ends.
func on(listener net.Listener) server {
	return func(ctx context.Context, handler http.Handler) error {
		// The handler itself sets the deadlines of the body of a request and of
		// the answer, because some answers wait for minutes.
		server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
		failed := make(chan error, 1)
		go func() { failed <- server.Serve(listener) }() // Close ends it
		fmt.Fprintln(os.Stderr, "listening on", listener.Addr())
		select {
		case err := <-failed:
			return err
		case <-ctx.Done():
		}
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		return errors.Join(server.Shutdown(grace), server.Close())
	}
}
