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
	case !asksPorts(req):
		return nil
	case req.UntilListening < -1 || req.UntilListening > 65535:
		return xerrors.Errorf("there is no port %d, use 1 to 65535, or -1 for any: %w", req.UntilListening, procmgr.ErrInvalid)
	case !osproc.TellsMembers:
		return xerrors.Errorf("the ports of a process cannot be told on %s: %w", runtime.GOOS, errors.ErrUnsupported)
	}
	return nil
}

func asksPorts(req procmgr.OutputRequest) bool { return req.Ports || req.UntilListening != 0 }

// cannotLook returns the error of a look that was not possible.
func cannotLook(s *osproc.System, what string) error {
	if err := s.Unreadable(); err != nil {
		return xerrors.Errorf("the %s cannot be told: %w", what, err)
	}
	return xerrors.Errorf("the %s cannot be told, because no file descriptor is left or processes are started too fast; try again: %w", what, procmgr.ErrLimit)
}

// awaitPort looks again and again, until the process listens on the port for which a
// request waits: then it closes heard. stop ends that. It returns what was found, or nil.
func (l *Local) awaitPort(ctx context.Context, r *record, req procmgr.OutputRequest) (heard <-chan struct{}, stop func() []osproc.Listen) {
	if req.UntilListening == 0 || req.Wait <= 0 {
		return nil, func() []osproc.Listen { return nil }
	}
	ctx, cancel := context.WithTimeout(ctx, req.Wait)
	found, ended := make(chan struct{}), make(chan struct{})
	var sockets []osproc.Listen
	go func() { // stop waits for it
		defer close(ended)
		next := time.NewTimer(0)
		defer next.Stop()
		for !r.exited() {
			select {
			case <-next.C:
			case <-ctx.Done():
				return
			}
			began := time.Now()
			all, _ := l.system.Listening(r.tree) // if it could not look, the next look may
			if len(all) > 0 && req.UntilListening == -1 || slices.ContainsFunc(all, func(s osproc.Listen) bool { return s.Port == req.UntilListening }) {
				sockets = all
				close(found)
				return
			}
			next.Reset(max(portPause, portRest*time.Since(began)))
		}
	}()
	return found, func() []osproc.Listen {
		cancel()
		<-ended
		return sockets
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
			return cannotLook(l.system, "ports")
		}
		found = all
	}
	for _, s := range found {
		out.Listening = append(out.Listening, procmgr.Socket{Addr: s.Addr, PID: s.PID})
	}
	return nil
}
