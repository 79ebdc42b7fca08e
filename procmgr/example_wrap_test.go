package procmgr_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A guard refuses commands and input with "git push", and passes everything else on. It
// does not embed the next Manager, whose methods would pass the guard.
type guard struct {
	procmgr.Unsupported
	next procmgr.Manager
}

func allow(text string) error {
	if strings.Contains(text, "git push") {
		return xerrors.Errorf("only a person pushes; say what is to be pushed: %w", procmgr.ErrRefused)
	}
	return nil
}

func (g guard) Start(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	if err := allow(req.Command); err != nil {
		return procmgr.Output{}, err
	}
	return g.next.Start(ctx, req)
}

func (g guard) Input(ctx context.Context, id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
	if err := allow(string(req.Data)); err != nil {
		return procmgr.InputOutput{}, err
	}
	return g.next.Input(ctx, id, req)
}

func (g guard) Output(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	return g.next.Output(ctx, id, req)
}

func (g guard) Signal(ctx context.Context, id string, sig procmgr.Signal) error {
	return g.next.Signal(ctx, id, sig)
}

func (g guard) List(ctx context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	return g.next.List(ctx, req)
}

func (g guard) Events(ctx context.Context, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	return g.next.Events(ctx, req)
}

func (g guard) Describe(ctx context.Context) (procmgr.Description, error) {
	return g.next.Describe(ctx)
}

// A guard stands before a host and before every chat of it.
func ExampleWrapHost() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	local, err := proclocal.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer local.Close() // ends what still runs

	host := procmgr.WrapHost(local, func(_ string, m procmgr.Manager) procmgr.Manager { return guard{next: m} })
	chat := host.Chat("a")
	_, err = chat.Start(ctx, procmgr.StartRequest{Command: "git push"})
	fmt.Println(errors.Is(err, procmgr.ErrRefused), procmgr.Reason(err))
	out, err := chat.Start(ctx, procmgr.StartRequest{Command: "cat", Stdin: procmgr.StdinPipe})
	if err != nil {
		log.Print(err) // log.Fatal would skip Close
		return
	}
	_, err = chat.Input(ctx, out.Process.ID, procmgr.InputRequest{Data: []byte("git push\n")})
	fmt.Println(errors.Is(err, procmgr.ErrRefused))
	_, err = chat.Input(ctx, out.Process.ID, procmgr.InputRequest{Data: []byte("allowed\n"), Close: true})
	if err != nil {
		log.Print(err)
		return
	}
	out, err = chat.Output(ctx, out.Process.ID, procmgr.OutputRequest{Wait: time.Minute})
	fmt.Printf("%q %v\n", out.Text, err)
	// Output:
	// true only a person pushes; say what is to be pushed
	// true
	// "allowed\n" <nil>
}
