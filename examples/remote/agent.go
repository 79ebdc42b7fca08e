package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/internal/service"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// agent stands for a program that talks to a model. It reads the calls of the
// model, each of them a JSON object, and answers each with a line, which the
// model reads.
func agent(args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("agent", flag.ContinueOnError)
	var (
		url       = flags.String("url", "", "`URL` of the daemon: https://HOST:PORT or unix:///PATH")
		tokenFile = flags.String("token-file", "", "`file` with the daemon's token")
		ca        = flags.String("ca", "", "`file` with the certificate to trust, instead of the system's")
		chat      = flags.String("chat", "", "`ID` of the chat whose processes these are")
	)
	if err := parse(flags, args); err != nil {
		return err
	}
	if *chat == "" {
		return errors.New("-chat is missing: an agent sees the processes of one chat")
	}
	client, err := connect(*url, *tokenFile, *ca)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }() // Close closes idle connections, and an error there loses nothing

	tools := toolset.New(toolset.Static(client.Chat(*chat)), nil)
	for calls := json.NewDecoder(in); ; {
		var call struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		}
		switch err := calls.Decode(&call); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return xerrors.Errorf("read a call: %w", err)
		}
		res, err := carryOut(tools, toolset.Call{Name: call.Name, Arguments: call.Arguments})
		if _, failed := fmt.Fprintln(out, res.Content); failed != nil {
			return failed
		}
		if err != nil {
			return xerrors.Errorf("stopped: %w", err)
		}
	}
}

// carryOut carries out one call. Ctrl-C stops the call, and a foreground
// command with it. If an agent is killed, it stops nothing: the next agent
// finds its command.
func carryOut(tools *toolset.Set, call toolset.Call) (toolset.Result, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return tools.Call(ctx, call), context.Cause(ctx)
}

// connect returns a client for the daemon at a URL.
func connect(url, tokenFile, ca string) (*prochttp.Client, error) {
	var (
		opts prochttp.ClientOptions
		err  error
	)
	if tokenFile != "" {
		if opts.Token, err = service.ReadToken(tokenFile); err != nil {
			return nil, err
		}
	}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, err
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return nil, xerrors.Errorf("there is no certificate in %s", ca)
		}
		opts.TLS = &tls.Config{RootCAs: roots}
	}
	return prochttp.NewClient(url, &opts)
}
