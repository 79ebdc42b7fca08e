// Package ports waits until a process listens, and tells on what it listens.
package ports

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

// pause is the time between two looks for a port.
const pause = 100 * time.Millisecond

// Check returns an error if the ports that a request asks for cannot be
// told.
func Check(req procmgr.OutputRequest) error {
	switch {
	case !asks(req):
		return nil
	case req.UntilListening < -1 || req.UntilListening > 65535:
		return xerrors.Errorf("there is no port %d, use 1 to 65535, or -1 for any: %w", req.UntilListening, procmgr.ErrInvalid)
	case !osproc.TellsPorts:
		return xerrors.Errorf("the ports of a process cannot be told on %s: %w", runtime.GOOS, errors.ErrUnsupported)
	}
	return nil
}

func asks(req procmgr.OutputRequest) bool { return req.Ports || req.UntilListening != 0 }

// errPorts is the error of a look that was not possible.
var errPorts = xerrors.Errorf("the ports cannot be told, because no file descriptor is left: %w", procmgr.ErrLimit)

// A Hearing waits until a process listens on a port. A nil *Hearing waits for
// nothing.
type Hearing struct {
	of     *Looks
	tree   *osproc.Tree
	exited func() bool
	cancel context.CancelFunc
	heard  chan struct{} // closed when the process listens on the port
	ended  chan struct{} // closed when the hearing is over
	found  []osproc.Listen
}

// Hear begins to look for the port of a request that waits for one. exited reports
// whether nothing is left of the process. The caller calls Tell, which waits for the
// goroutine.
func (p *Looks) Hear(ctx context.Context, t *osproc.Tree, exited func() bool, req procmgr.OutputRequest) *Hearing {
	if req.UntilListening == 0 || req.Wait <= 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, req.Wait)
	h := &Hearing{of: p, tree: t, exited: exited, cancel: cancel, heard: make(chan struct{}), ended: make(chan struct{})}
	go h.look(ctx, req.UntilListening)
	return h
}

// look looks every pause, until the process listens on the port, has exited, or ctx
// ends.
func (h *Hearing) look(ctx context.Context, port int) {
	defer close(h.ended)
	h.of.enter(h.tree)
	defer h.of.leave(h.tree)
	next := time.NewTimer(0)
	defer next.Stop()
	for !h.exited() {
		select {
		case <-next.C:
		case <-ctx.Done():
			return
		}
		found := h.of.at(ctx, h.tree)
		if len(found) > 0 && port == -1 || slices.ContainsFunc(found, func(l osproc.Listen) bool { return l.Port == port }) {
			h.found = found
			close(h.heard)
			return
		}
		next.Reset(pause)
	}
}

// Heard returns the channel that is closed when the process listens.
func (h *Hearing) Heard() <-chan struct{} {
	if h == nil {
		return nil
	}
	return h.heard
}

// stop ends the hearing. It returns what was heard, and whether anything was.
func (h *Hearing) stop() (found []osproc.Listen, done bool) {
	if h == nil {
		return nil, false
	}
	h.cancel()
	<-h.ended
	return h.found, h.found != nil
}

// Looks are the looks for ports, while calls wait for them. One look costs as much as
// a search of the whole machine, and serves all calls that wait.
type Looks struct {
	System *osproc.System // set before the first call

	mu      sync.Mutex // guards the fields below
	waiting map[*osproc.Tree]int
	last    *glance // the newest, which may still go on
}

// A glance is one of them.
type glance struct {
	trees []*osproc.Tree
	done  chan struct{} // closed once the fields below are set
	found map[*osproc.Tree][]osproc.Listen
	over  time.Time
}

func (p *Looks) enter(t *osproc.Tree) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting == nil {
		p.waiting = make(map[*osproc.Tree]int)
	}
	p.waiting[t]++
}

func (p *Looks) leave(t *osproc.Tree) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting[t]--; p.waiting[t] == 0 {
		delete(p.waiting, t)
	}
	if len(p.waiting) == 0 {
		p.last = nil
	}
}

// Tell ends a Hearing, and sets out.Listening if a request asks for it. t is the
// process of out.
func (p *Looks) Tell(ctx context.Context, out *procmgr.Output, t *osproc.Tree, req procmgr.OutputRequest, h *Hearing) error {
	found, done := h.stop()
	switch {
	case !asks(req) || out.Process.State == procmgr.Exited:
		return nil
	case !done:
		all, looked := p.System.Listening([]*osproc.Tree{t})
		if !looked && ctx.Err() == nil {
			return errPorts
		}
		found = all[t]
	}
	for _, f := range found {
		out.Listening = append(out.Listening, procmgr.Socket{Addr: f.Addr, PID: f.PID})
	}
	return nil
}

// at returns the sockets on which a tree listens, by a look that is at most
// pause old. The tree has entered. If ctx ends, it returns none.
func (p *Looks) at(ctx context.Context, t *osproc.Tree) []osproc.Listen {
	for {
		look, mine := p.next(t)
		if mine {
			look.found, _ = p.System.Listening(look.trees) // if it could not look, the next look may
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
func (p *Looks) next(t *osproc.Tree) (look *glance, mine bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := p.last; last != nil {
		select {
		case <-last.done:
			if slices.Contains(last.trees, t) && time.Since(last.over) < pause/2 {
				return last, false
			}
		default:
			return last, false
		}
	}
	p.last = &glance{done: make(chan struct{})}
	for t := range p.waiting {
		p.last.trees = append(p.last.trees, t)
	}
	return p.last, true
}
