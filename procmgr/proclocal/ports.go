package proclocal

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// portPause is the time between two looks for a port.
const portPause = 100 * time.Millisecond

// checkPorts returns an error if the ports that a request asks for cannot be
// told.
func checkPorts(req procmgr.OutputRequest) error {
	switch {
	case !asksPorts(req):
		return nil
	case req.UntilListening < -1 || req.UntilListening > 65535:
		return xerrors.Errorf("there is no port %d, use 1 to 65535, or -1 for any: %w", req.UntilListening, procmgr.ErrInvalid)
	case !osproc.TellsPorts:
		return xerrors.Errorf("the ports of a process cannot be told on %s: %w", runtime.GOOS, errors.ErrUnsupported)
	}
	return nil
}

func asksPorts(req procmgr.OutputRequest) bool { return req.Ports || req.UntilListening != 0 }

// errPorts is the error of a look that was not possible.
var errPorts = xerrors.Errorf("the ports cannot be told, because no file descriptor is left: %w", procmgr.ErrLimit)

// addPorts sets out.Listening if a request asks for it.
func (l *Local) addPorts(ctx context.Context, out *procmgr.Output, r *record, req procmgr.OutputRequest, heard *hearing) error {
	found, done := heard.stop()
	switch {
	case !asksPorts(req) || out.Process.State == procmgr.Exited:
		return nil
	case !done:
		all, looked := l.system.Listening([]*osproc.Tree{r.tree})
		if !looked && ctx.Err() == nil {
			return errPorts
		}
		found = all[r.tree]
	}
	for _, f := range found {
		out.Listening = append(out.Listening, procmgr.Listen{Network: f.Network, Addr: f.Addr, PID: f.PID})
	}
	return nil
}

// A hearing waits until a process listens on a port. A nil *hearing waits for
// nothing.
type hearing struct {
	cancel context.CancelFunc
	heard  chan struct{} // closed when the process listens on the port
	ended  chan struct{} // closed when the hearing is over
	found  []osproc.Listen
}

// hear begins to look for the port of a request that waits for one. The caller
// calls stop, which waits for the goroutine.
func (l *Local) hear(ctx context.Context, r *record, req procmgr.OutputRequest) *hearing {
	if req.UntilListening == 0 || req.Wait <= 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, req.Wait)
	h := &hearing{cancel: cancel, heard: make(chan struct{}), ended: make(chan struct{})}
	go h.look(ctx, &l.ports, l.system, r, req.UntilListening)
	return h
}

// look looks every portPause, until the process listens on the port, has
// exited, or ctx ends.
func (h *hearing) look(ctx context.Context, looks *portLooks, system *osproc.System, r *record, port int) {
	defer close(h.ended)
	looks.enter(r.tree)
	defer looks.leave(r.tree)
	pause := time.NewTimer(0)
	defer pause.Stop()
	for !r.exited() {
		select {
		case <-pause.C:
		case <-ctx.Done():
			return
		}
		found := looks.at(ctx, system, r.tree)
		if len(found) > 0 && port == -1 || slices.ContainsFunc(found, func(l osproc.Listen) bool { return l.Port == port }) {
			h.found = found
			close(h.heard)
			return
		}
		pause.Reset(portPause)
	}
}

// port returns the channel that is closed when the process listens.
func (h *hearing) port() <-chan struct{} {
	if h == nil {
		return nil
	}
	return h.heard
}

// stop ends the hearing. It returns what was heard, and whether anything was.
func (h *hearing) stop() (found []osproc.Listen, done bool) {
	if h == nil {
		return nil, false
	}
	h.cancel()
	<-h.ended
	return h.found, h.found != nil
}

// portLooks are the looks for ports, while calls wait for them. One look costs
// as much as a search of the whole machine, and serves all calls that wait.
type portLooks struct {
	mu      sync.Mutex // guards the fields below
	waiting map[*osproc.Tree]int
	last    *portLook // the newest, which may still go on
}

// A portLook is one look.
type portLook struct {
	trees []*osproc.Tree
	done  chan struct{} // closed once the fields below are set
	found map[*osproc.Tree][]osproc.Listen
	over  time.Time
}

func (p *portLooks) enter(t *osproc.Tree) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting == nil {
		p.waiting = make(map[*osproc.Tree]int)
	}
	p.waiting[t]++
}

func (p *portLooks) leave(t *osproc.Tree) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting[t]--; p.waiting[t] == 0 {
		delete(p.waiting, t)
	}
	if len(p.waiting) == 0 {
		p.last = nil
	}
}

// at returns the sockets on which a tree listens, by a look that is at most
// portPause old. The tree has entered. If ctx ends, it returns none.
func (p *portLooks) at(ctx context.Context, system *osproc.System, t *osproc.Tree) []osproc.Listen {
	for {
		look, mine := p.next(t)
		if mine {
			look.found, _ = system.Listening(look.trees) // if it could not look, the next look may
			look.over = time.Now()
			close(look.done)
		}
		select {
		case <-look.done:
		case <-ctx.Done():
			return nil
		}
		if mine || slices.Contains(look.trees, t) {
			return look.found[t]
		}
	}
}

// next returns the newest look, or a new one that the caller has to do.
func (p *portLooks) next(t *osproc.Tree) (look *portLook, mine bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := p.last; last != nil {
		select {
		case <-last.done:
			if slices.Contains(last.trees, t) && time.Since(last.over) < portPause/2 {
				return last, false
			}
		default:
			return last, false
		}
	}
	p.last = &portLook{done: make(chan struct{})}
	for t := range p.waiting {
		p.last.trees = append(p.last.trees, t)
	}
	return p.last, true
}
