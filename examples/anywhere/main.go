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
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

func main() {
	// Without SIGPIPE: it would come whenever a command of -via has ended.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
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

	tools := toolset.New(toolset.Static(host.Chat(*chat)), nil)
	for calls := bufio.NewReader(in); ctx.Err() == nil; {
		line, err := calls.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			if _, err := fmt.Fprintln(out, answer(ctx, tools, line)); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return xerrors.Errorf("read a call: %w", err)
		}
	}
	return ctx.Err()
}

// answer returns what the model reads after a call. A call that is no JSON gets an
// error to read, and the next one is carried out.
func answer(ctx context.Context, tools *toolset.Set, line []byte) string {
	var call struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := json.Unmarshal(line, &call); err != nil {
		text, _ := json.Marshal(map[string]any{"success": false, "error": "the call is no JSON, and nothing was done: " + err.Error()})
		return string(text)
	}
	return tools.Call(ctx, toolset.Call{Name: call.Name, Arguments: call.Arguments}).Content
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
