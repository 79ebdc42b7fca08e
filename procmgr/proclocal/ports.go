package proclocal

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// portPause is the time between two looks for a port. A look takes a search of the whole
// machine: between two looks that take long, it is portRest times as long as a look.
const (
	portPause = 100 * time.Millisecond
	portRest  = 4
)

// checkPorts returns an error if the ports that a request asks for cannot be told.
func checkPorts(req procmgr.OutputRequest) error {
	switch {
	case req.UntilListening < -1 || req.UntilListening > 65535:
		return xerrors.Errorf("there is no port %d, use 1 to 65535, or -1 for any: %w", req.UntilListening, procmgr.ErrInvalid)
	case osproc.TellsPorts, !asksPorts(req):
		return nil
	}
	return xerrors.Errorf("the ports of a process cannot be told on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

func asksPorts(req procmgr.OutputRequest) bool { return req.Ports || req.UntilListening != 0 }

// cannotLook returns the error of a look that was not possible.
func cannotLook(s *osproc.System) error {
	if err := s.Unreadable(); err != nil {
		return xerrors.Errorf("the ports cannot be told: %w", err)
	}
	return xerrors.Errorf("the ports cannot be told, because no file descriptor is left or processes are started too fast; try again: %w", procmgr.ErrLimit)
}

// listens returns the poll for a port, -1 for any. It sets found to what it has found.
func (l *Local) listens(r *record, port int, found *[]osproc.Listen) poll {
	return func() (ends bool, pause time.Duration) {
		began := time.Now()
		all, _ := l.system.Listening(r.tree) // if it could not look, the next look may
		if len(all) > 0 && port == -1 || slices.ContainsFunc(all, func(s osproc.Listen) bool { return s.Port == port }) {
			*found = all
			return true, 0
		}
		return false, max(portPause, portRest*time.Since(began))
	}
}

// tellPorts sets out.Listening if a request asks for it, to what was found or else to
// what is found now.
func (l *Local) tellPorts(ctx context.Context, r *record, out *procmgr.Output, req procmgr.OutputRequest, found []osproc.Listen) error {
	if !asksPorts(req) || out.Process.State == procmgr.Exited {
		return nil
	}
	if found == nil {
		all, looked := l.system.Listening(r.tree)
		if !looked && ctx.Err() == nil {
			return cannotLook(l.system)
		}
		found = all
	}
	for _, s := range found {
		out.Listening = append(out.Listening, procmgr.Socket{Addr: s.Addr, PID: s.PID})
	}
	return nil
}
