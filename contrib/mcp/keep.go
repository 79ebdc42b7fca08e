package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prockeep"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// idle is how long a keeper stays without processes and without requests, so that
// clients can come back after a night.
const idle = 24 * time.Hour

// serveKept serves the session over stdio whose commands run in the keeper of a directory,
// where they outlive it. The next such session has the same chat.
func serveKept(ctx context.Context, keeper, workDir string, local proclocal.Options, opts toolset.Options, log *slog.Logger) (err error) {
	if _, err := os.Stat(workDir + "/"); err != nil { // before a keeper is started for nothing
		return err
	}
	k, err := prockeep.Open(ctx, keeper, &prockeep.Options{Local: local, Idle: idle, Logger: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.Close()) }() // only the connections to the keeper
	// A command begins there.
	if err := os.Chdir(workDir); err != nil {
		return err
	}
	gone := new(atomic.Bool)
	s, err := newServerWith(persistentHost{k, gone}, stdioChat, opts, log)
	if err != nil {
		return err
	}
	s.dir = workDir
	return serveStdio(ctx, s, func() { gone.Store(true) })
}

// persistentHost is a host whose processes outlive the session. The end of the session
// cancels its calls, which would stop their commands.
type persistentHost struct {
	procmgr.Host
	gone *atomic.Bool // the client is
}

func (k persistentHost) Chat(id string) procmgr.Manager {
	return persistentChat{k.Host.Chat(id), k.gone}
}

type persistentChat struct {
	procmgr.Manager
	gone *atomic.Bool
}

func (k persistentChat) Signal(ctx context.Context, id string, sig procmgr.Signal) error {
	if k.gone.Load() {
		return procmgr.ErrClosed
	}
	return k.Manager.Signal(ctx, id, sig)
}
