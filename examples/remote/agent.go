package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/examples/internal/calls"
	"github.com/toolproc/toolproc/examples/internal/interrupt"
	"github.com/toolproc/toolproc/internal/service"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// agent stands for a program that talks to a model, see package calls. A signal
// stops its call, and a foreground command with it. If an agent is killed, it stops
// nothing: the next agent finds its command.
func agent(args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("agent", flag.ContinueOnError)
	url := flags.String("url", "", "`URL` of the daemon: https://HOST:PORT")
	keys := flags.String("keys", "keys", "`directory` with the daemon's token, and with its certificate")
	chat := flags.String("chat", "", "`ID` of the chat whose processes these are")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *chat == "" {
		return errors.New("-chat is missing: an agent sees the processes of one chat")
	}
	client, err := connect(*url, filepath.Join(*keys, tokenName), filepath.Join(*keys, certName))
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }() // Close closes idle connections, and an error there loses nothing
	ctx, stop := interrupt.Context(os.Interrupt)
	defer stop()
	set, err := toolset.New(toolset.Static(client.Chat(*chat)), nil)
	if err != nil {
		return err
	}
	return calls.Serve(ctx, set, in, out)
}

// connect returns a client for the daemon at a URL. It trusts only the given
// certificate, not the system's.
func connect(url, tokenFile, certFile string) (*prochttp.Client, error) {
	token, err := service.ReadToken(tokenFile)
	if err != nil {
		return nil, err
	}
	pem, err := os.ReadFile(certFile)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, xerrors.Errorf("there is no certificate in %s", certFile)
	}
	return prochttp.NewClient(url, &prochttp.ClientOptions{Token: token, TLS: &tls.Config{RootCAs: roots}})
}
