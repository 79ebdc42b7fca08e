package proctest_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
	"github.com/toolproc/toolproc/procmgr/proctest"
)

// A polite is a custom Host: it runs every command with a niceness, and counts
// the commands that it was asked to run. It is a Manager for each chat and for
// the host, so it wraps both.
type polite struct {
	procmgr.Manager
	host    procmgr.Host
	started *atomic.Int64
}

func newPolite(host procmgr.Host) *polite {
	return &polite{Manager: host, host: host, started: new(atomic.Int64)}
}

func (p *polite) Start(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	p.started.Add(1)
	return p.Manager.Start(ctx, req)
}

func (p *polite) Chat(id string) procmgr.Manager {
	return &polite{Manager: p.host.Chat(id), host: p.host, started: p.started}
}

// A custom Host keeps every promise, or the suite says which one it breaks.
func TestOwnHost(t *testing.T) {
	proctest.TestHost(t, func(t *testing.T) procmgr.Host {
		local, err := proclocal.New(&proclocal.Options{Shell: []string{"nice", "-n", "5", "sh", "-c"}})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, local.Close()) })
		return newPolite(local)
	})
}
