// Command anywhere is an agent whose commands run here, or elsewhere:
//
//	anywhere
//	anywhere -via "ssh -T -o BatchMode=yes build"
//	anywhere -via "docker exec -i box"
//	anywhere -via "kubectl exec -i pod --"
//	anywhere -url https://build.example:8443 -keys keys
//
// It is the same agent each time: only the Host behind its tools is another one.
// The far side is toolprocd, which has to be on the PATH there; -far names
// another command. With -url it is "toolprocd serve", and the keys are made by the
// example of that name. It keeps the processes: if the connection or this program
// dies, they go on, and the next run with the same -chat has them again. Here,
// without -via and -url, they end with this program. A signal stops its call, and a
// foreground command with it.
//
// It stands for a program that talks to a model. Each line of its input is a call
// of the model, such as
//
//	{"name":"execute","arguments":{"command":"hostname"}}
//
// and each line of its output is what the model reads.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/examples/internal/calls"
	"github.com/toolproc/toolproc/examples/internal/interrupt"
	"github.com/toolproc/toolproc/internal/service"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

func main() {
	ctx, stop := interrupt.Context(os.Interrupt)
	defer stop()
	err := anywhere(ctx, os.Args[1:], os.Stdin, os.Stdout)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "anywhere:", err)
		stop()
		os.Exit(1)
	}
}

func anywhere(ctx context.Context, args []string, in io.Reader, out io.Writer) (err error) {
	flags := flag.NewFlagSet("anywhere", flag.ContinueOnError)
	via := flags.String("via", "", "`command` that leads to another machine, split at spaces; none: this machine")
	far := flags.String("far", "toolprocd stdio", "`command` of the far side, split at spaces")
	url := flags.String("url", "", "`URL` of a server: https://HOST:PORT")
	keys := flags.String("keys", "keys", "`directory` with the server's token, and with its certificate")
	chat := flags.String("chat", "anywhere", "`chat` whose processes these are")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var host closer
	switch {
	case *url != "":
		host, err = hostAt(*url, *keys)
	case *via != "":
		host, err = prochttp.NewClient("http://localhost", &prochttp.ClientOptions{
			Dial: prochttp.Command(strings.Fields(*via + " " + *far)...),
		})
	default:
		host, err = proclocal.New(nil)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, host.Close()) }()

	set, err := toolset.New(toolset.Static(host.Chat(*chat)), nil)
	if err != nil {
		return err
	}
	return calls.Serve(ctx, set, in, out)
}

// A closer is a Host that is closed at the end: a Local, or a Client.
type closer interface {
	procmgr.Host
	Close() error
}

// hostAt returns the Host at a URL. It trusts only the certificate of the keys, not the
// system's.
func hostAt(url, keys string) (*prochttp.Client, error) {
	token, err := service.ReadToken(filepath.Join(keys, "token"))
	if err != nil {
		return nil, err
	}
	cert, err := os.ReadFile(filepath.Join(keys, "cert.pem"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	return prochttp.NewClient(url, &prochttp.ClientOptions{Token: token, TLS: &tls.Config{RootCAs: roots}})
}
