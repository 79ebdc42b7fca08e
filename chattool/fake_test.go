package chattool_test

import (
	"context"

	"github.com/toolproc/toolproc/procmgr"
)

// A fake is a Manager that runs nothing. A process that it "starts" has already
// ended with exit. If exit is negative, the process runs on.
type fake struct {
	procmgr.Unsupported
	exit     int
	text     string
	panics   bool
	commands []string
}

var _ procmgr.Manager = (*fake)(nil)

func (f *fake) Start(_ context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	f.commands = append(f.commands, req.Command)
	if f.panics {
		panic("ouch")
	}
	return f.Output(context.Background(), req.ID, procmgr.OutputRequest{})
}

func (f *fake) Output(_ context.Context, id string, _ procmgr.OutputRequest) (procmgr.Output, error) {
	out := procmgr.Output{Process: procmgr.Process{ID: id, State: procmgr.Running}, Text: f.text}
	if f.exit >= 0 {
		out.Process.State, out.Process.ExitCode, out.Process.EndedBy = procmgr.Exited, &f.exit, procmgr.CauseExit
	}
	return out, nil
}

func (f *fake) List(context.Context, procmgr.ListRequest) (procmgr.ListPage, error) {
	return procmgr.ListPage{}, nil
}

func (f *fake) Signal(context.Context, string, procmgr.Signal) error { return nil }
