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
	"github.com/toolproc/toolproc/contrib/filetool/procfile"
	"github.com/toolproc/toolproc/contrib/procview"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proclocal"
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
		view      = flags.Bool("view", false, "serve a page for a person on this machine, too, and print its URL")
		rules     = ruleFlags(flags)
	)
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
		if opts.Token, err = readToken(*tokenFile); err != nil {
			return err
		}
		listener, opts.Hosts, err = listenTLS(*listen, *cert, *key)
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
	return withLocal(ctx, opts, box, func(local *proclocal.Local, processes http.Handler) error {
		if *view {
			page, err := procview.Serve(ctx, local, "127.0.0.1:0")
			if err != nil {
				return err
			}
			defer func() { _ = page.Close() }()
			fmt.Fprintln(os.Stderr, "the page is", page.URL)
		}
		fmt.Fprintln(os.Stderr, "listening on", listener.Addr())
		return withFiles(held, files, on(listener, log))(ctx, processes)
	})
}

// withFiles is a server that serves the files of this machine beside the processes, to the
// same callers. Relative paths begin in the current directory. The rules of a sandbox hold
// for files as for commands; nil is none.
func withFiles(rules *procmgr.SandboxRules, opts filehttp.HandlerOptions, serve server) server {
	return func(ctx context.Context, processes http.Handler) (err error) {
		local, err := procfile.NewLocal(&procfile.LocalOptions{Sandbox: rules})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, local.Close()) }()
		files, err := filehttp.NewHandler(local, &opts)
		if err != nil {
			return err
		}
		mux := http.NewServeMux()
		mux.Handle("/", processes)
		for _, path := range []string{"/read", "/write", "/edit"} {
			mux.Handle(path, files)
		}
		return serve(ctx, mux)
	}
}
