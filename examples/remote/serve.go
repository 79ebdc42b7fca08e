package main

import (
	"context"
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

	"github.com/toolproc/toolproc/internal/service"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// serve is the daemon. Until a signal ends it, it runs commands for every
// client that has the token or can open the socket. No process that it has
// started outlives it.
func serve(args []string, out io.Writer) error {
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

	opts := prochttp.HandlerOptions{Logger: log}
	var err error
	if *tokenFile != "" {
		if opts.Token, err = service.ReadToken(*tokenFile); err != nil {
			return err
		}
	}
	var listener net.Listener
	scheme := "https://"
	switch {
	case *unix != "":
		scheme, opts.Insecure = "unix://", opts.Token == "" // only the user of the socket can connect
		listener, err = prochttp.ListenUnix(*unix)
	case *cert == "", *key == "":
		return errors.New("TLS needs -cert and -key")
	default:
		listener, opts.Hosts, err = service.ListenTLS(*listen, *cert, *key)
	}
	if err != nil {
		return err
	}
	defer listener.Close()
	return service.Run(ctx, *dir, opts, func(ctx context.Context, handler http.Handler) error {
		if _, err := fmt.Fprintln(out, "listening on", scheme+listener.Addr().String()); err != nil {
			return err
		}
		return service.On(listener, log)(ctx, handler)
	})
}
