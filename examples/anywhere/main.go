// Command anywhere is an agent whose commands run here, or elsewhere:
//
//	anywhere
//	anywhere -via "ssh -T -o BatchMode=yes build"
//	anywhere -via "docker exec -i box"
//	anywhere -via "kubectl exec -i pod --"
//
// It is the same agent each time: only the Host behind its tools is another one.
// The far side is toolprocd, which has to be on the PATH there; -far names
// another command. It keeps the processes: if the connection or this program
// dies, they go on, and the next run with the same -chat has them again. Here,
// without -via, they end with this program.
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
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/examples/internal/calls"
	"github.com/toolproc/toolproc/examples/internal/interrupt"
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
	chat := flags.String("chat", "anywhere", "`chat` whose processes these are")
	if err := flags.Parse(args); err != nil {
		return err
	}
	host, err := hostVia(strings.Fields(*via), strings.Fields(*far))
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

// hostVia returns the Host to which a command leads.
func hostVia(via, far []string) (closer, error) {
	if len(via) == 0 {
		return proclocal.New(nil)
	}
	return prochttp.NewClient("http://localhost", &prochttp.ClientOptions{
		Dial: prochttp.Command(append(via, far...)...),
	})
}
