package procmgr_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A guard refuses commands with rm, and passes everything else on. It has no Input,
// since a shell would run a text with rm too.
type guard struct {
	procmgr.Unsupported // and not the guarded Manager, whose methods would pass the guard
	guarded             procmgr.Manager
}

var remove = regexp.MustCompile(`\brm\b`)

func (g guard) Start(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	if remove.MatchString(req.Command) {
		return procmgr.Output{}, xerrors.Errorf("rm is not allowed here, move the files to /trash instead: %w", procmgr.ErrRefused)
	}
	return g.guarded.Start(ctx, req)
}

func (g guard) Output(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	return g.guarded.Output(ctx, id, req)
}

func (g guard) Signal(ctx context.Context, id string, sig procmgr.Signal) error {
	return g.guarded.Signal(ctx, id, sig)
}

func (g guard) List(ctx context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	return g.guarded.List(ctx, req)
}

func (g guard) Events(ctx context.Context, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	return g.guarded.Events(ctx, req)
}

func (g guard) Describe(ctx context.Context) (procmgr.Description, error) {
	return g.guarded.Describe(ctx)
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

	host := procmgr.WrapHost(local, func(_ string, m procmgr.Manager) procmgr.Manager { return guard{guarded: m} })
	chat := host.Chat("a")
	_, err = chat.Start(ctx, procmgr.StartRequest{Command: "cd /tmp && rm -r cache"})
	fmt.Println(errors.Is(err, procmgr.ErrRefused), procmgr.Reason(err))
	out, err := chat.Start(ctx, procmgr.StartRequest{Command: "echo allowed", Wait: time.Minute})
	fmt.Printf("%q %v\n", out.Text, err)
	// Output:
	// true rm is not allowed here, move the files to /trash instead
	// "allowed\n" <nil>
}
