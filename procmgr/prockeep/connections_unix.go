//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// connections are those of a keeper's server. When the keeper ends, each request that
// it has read is answered, and each other one stays unread, so that its caller can
// tell that it has done nothing. [http.Server.Shutdown] promises neither: it closes a
// connection whose request has just been read.
type connections struct {
	mu    sync.Mutex // guards the fields below
	all   map[net.Conn]connection
	last  bool          // the keeper reads no more requests
	empty chan struct{} // closed when there are no connections and last is set
}

// A connection is what is known of one.
type connection struct {
	quiet bool // no request of it is being served
	line  bool // by it a program sees that the keeper lives
}

func newConnections() *connections {
	return &connections{all: make(map[net.Conn]connection), empty: make(chan struct{})}
}

// changed is called when the state of a connection changes.
func (cs *connections) changed(c net.Conn, state http.ConnState) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	switch state {
	case http.StateNew, http.StateIdle, http.StateActive:
		now := cs.all[c]
		now.quiet = state != http.StateActive
		cs.all[c] = now
		if cs.last {
			now.readNoMore(c)
		}
	case http.StateHijacked, http.StateClosed:
		delete(cs.all, c)
		cs.look()
	}
}

// readNoMore lets a connection without a request end as soon as what it has received
// is answered.
func (one connection) readNoMore(c net.Conn) {
	if one.quiet {
		_ = c.(*net.UnixConn).CloseRead() //nolint:forcetypeassert // the listener has no other
	}
}

// look closes empty if that is due. The caller holds mu.
func (cs *connections) look() {
	if cs.last && len(cs.all) == 0 {
		select {
		case <-cs.empty:
		default:
			close(cs.empty)
		}
	}
}

// greeted notes a line.
func (cs *connections) greeted(c net.Conn) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	now := cs.all[c]
	now.line = true
	cs.all[c] = now
}

// closeLines closes the lines.
func (cs *connections) closeLines() {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for c, one := range cs.all {
		if one.line {
			_ = c.Close() // changed is called later, and finds mu free
		}
	}
}

// finish lets every request that was sent be answered. It returns when all
// connections have ended, or with ctx. The listener is closed by then.
func (cs *connections) finish(ctx context.Context) {
	cs.mu.Lock()
	cs.last = true
	for c, one := range cs.all {
		one.readNoMore(c)
	}
	cs.look()
	cs.mu.Unlock()
	select {
	case <-cs.empty:
	case <-ctx.Done():
	}
}
