package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/toolproc/toolproc/contrib/filetool/filehttp"
	"github.com/toolproc/toolproc/contrib/procview"
	"github.com/toolproc/toolproc/internal/service"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// serve serves on a port with TLS and a token, or on a socket that only its user
// can open.
func serve(flags *flag.FlagSet, args []string) (err error) {
	var (
		listen    = flags.String("listen", "", "`address` to serve on, with TLS, such as :8443")
		cert      = flags.String("tls-cert", "", "`file` with the certificate")
		key       = flags.String("tls-key", "", "`file` with its key")
		tokenFile = flags.String("token-file", "", "`file` with the token that clients need")
		unix      = flags.String("unix", "", "`path` of a unix socket to serve on instead; it needs no token")
	)
	view := ""
	flags.BoolFunc("view", "serve a page for a person on this machine, too: its URL is printed; -view=`ADDRESS` of the loopback is where", func(address string) error {
		if address == "true" { // the flag alone
			address = "127.0.0.1:0"
		}
		view = address
		return nil
	})
	rules := ruleFlags(flags)
	if _, err := parse(flags, args, 0, 0); err != nil {
		return err
	}
	log := warnings()
	opts := prochttp.HandlerOptions{Logger: log}
	var listener net.Listener
	switch {
	case (*unix == "") == (*listen == ""):
		return errors.New("set one of -listen and -unix")
	case *unix != "":
		opts.Insecure = true // only the user of the socket can connect
		listener, err = prochttp.ListenUnix(*unix)
	case *tokenFile == "":
		return errors.New("-listen needs -token-file: whoever calls it runs commands")
	case *cert == "", *key == "":
		return errors.New("-listen needs -tls-cert and -tls-key, or anybody on the way could read the token")
	default:
		if opts.Token, err = service.ReadToken(*tokenFile); err != nil {
			return err
		}
		listener, opts.Hosts, err = service.ListenTLS(*listen, *cert, *key)
	}
	if err != nil {
		return err
	}
	defer listener.Close()
	box, unbox, err := rules.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unbox()) }()
	ctx, stop := untilAsked()
	defer stop()
	var held *procmgr.SandboxRules
	if box != nil {
		all := box.Rules()
		held = &all
	}
	files := filehttp.HandlerOptions{Token: opts.Token, Insecure: opts.Insecure, Hosts: opts.Hosts}
	return service.RunBeside(ctx, "", box, opts, withFiles(held, files, func(ctx context.Context, handler http.Handler) error {
		fmt.Fprintln(os.Stderr, "listening on", listener.Addr())
		return service.On(listener, log)(ctx, handler)
	}), func(ctx context.Context, host procmgr.Host) (func() error, error) {
		if view == "" {
			return func() error { return nil }, nil
		}
		page, err := procview.Serve(ctx, host, view)
		if err != nil {
			return nil, err
		}
		fmt.Fprintln(os.Stderr, "the page is", page.URL)
		return page.Close, nil
	})
}
