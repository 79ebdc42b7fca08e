package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// serve is the daemon. Until a signal ends it, it runs commands for every
// client that has the token or can open the socket. No process that it has
// started outlives it.
func serve(args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	var (
		listen    = flags.String("listen", "127.0.0.1:8443", "`address` to serve on, with TLS")
		unix      = flags.String("unix", "", "`path` of a unix socket to serve on instead")
		tokenFile = flags.String("token-file", "", "`file` with the token; a socket needs none")
		cert      = flags.String("cert", "", "`file` with the certificate")
		key       = flags.String("key", "", "`file` with its key")
		dir       = flags.String("dir", "", "`directory` to run commands in; where it was started")
	)
	if err := parse(flags, args); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))

	opts := prochttp.HandlerOptions{Context: ctx, Logger: log} // when ctx ends, the waits are answered
	server := &http.Server{
		// The handler itself sets the deadlines of the body of a request and of
		// the answer, because some answers wait for minutes.
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10, // the limit of the handler is lower, and its error says so
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	if *tokenFile != "" {
		if opts.Token, err = readToken(*tokenFile); err != nil {
			return err
		}
	}
	if *unix != "" {
		opts.Insecure = opts.Token == "" // only the user of the socket can connect
	} else {
		// Without TLS, anybody who listens in on the network gets the token.
		pair, err := tls.LoadX509KeyPair(*cert, *key)
		if err != nil {
			return xerrors.Errorf("TLS needs -cert and -key: %w", err)
		}
		server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13}
		opts.Hosts = pair.Leaf.DNSNames // under any other name, the request may come from a web page
	}

	local, err := procmgr.NewLocal(&procmgr.Options{WorkDir: func() string { return *dir }, Logger: log})
	if err != nil {
		return err
	}
	// Last, so that no call starts a process afterwards. It ends the processes
	// that still run.
	defer func() { err = errors.Join(err, local.Close()) }()
	if server.Handler, err = prochttp.NewHandler(local, &opts); err != nil {
		return err
	}

	var listener net.Listener
	url := ""
	if *unix != "" {
		if listener, err = prochttp.ListenUnix(*unix); err != nil {
			return err
		}
		url = "unix://" + listener.Addr().String()
	} else {
		if listener, err = net.Listen("tcp", *listen); err != nil {
			return err
		}
		url = "https://" + listener.Addr().String()
	}
	failed := make(chan error, 1)
	go func() { // Shutdown ends it
		if server.TLSConfig != nil {
			failed <- server.ServeTLS(listener, "", "")
		} else {
			failed <- server.Serve(listener)
		}
	}()
	if _, err := fmt.Fprintln(out, "listening on", url); err != nil {
		return errors.Join(err, server.Close())
	}

	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	// By now, every wait has been answered or is about to be.
	grace, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return errors.Join(server.Shutdown(grace), server.Close())
}
