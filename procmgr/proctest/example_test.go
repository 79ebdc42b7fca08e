package proctest_test

import (
	"context"
	"sync/atomic"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A counting counts the commands that a Manager was asked to run.
type counting struct {
	procmgr.Manager
	started *atomic.Int64
}

func (c counting) Start(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	c.started.Add(1)
	return c.Manager.Start(ctx, req)
}

// newPolite returns a custom Host: it runs every command with a niceness, and
// counts the commands that it was asked to run, its own and those of each chat.
func newPolite(local *proclocal.Local) procmgr.Host {
	started := new(atomic.Int64)
	return procmgr.WrapHost(local, func(m procmgr.Manager) procmgr.Manager { return counting{m, started} })
}
