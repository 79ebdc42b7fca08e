package prochttp

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os/exec"
	"sync"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

const (
	// pingTime is after how much silence each side of a connection asks whether
	// the other one is there, and pongTime is how long the answer may take.
	pingTime = 10 * time.Second
	pongTime = 5 * time.Second
	// dialTime is how long a dial may take, the first bytes of the far side
	// included. Several attempts of a call may wait for one dial.
	dialTime = 30 * time.Second
	// reasonTime is how long a call whose context has ended waits for the
	// reason why there is no connection.
	reasonTime = 250 * time.Millisecond
)

// A dialed is a transport that carries all requests over one connection of
// ClientOptions.Dial. http.Transport would dial once for each of the first
// requests.
type dialed struct {
	dial func(context.Context) (net.Conn, error)

	mu     sync.Mutex // guards the fields below, and the waiters of each dialing
	now    *dialing   // the connection for the next request; nil if there is none
	links  map[*link]struct{}
	closed bool
}

// A dialing is a connection, from the dial on.
type dialing struct {
	cancel  context.CancelFunc // ends the dial
	waiters int                // the requests that wait for the dial
	done    chan struct{}      // closed once the fields below are set
	conn    *http.ClientConn
	link    *link
	err     error
}

// An unsentError is the error of a request that was not sent.
type unsentError struct{ err error }

func (e *unsentError) Error() string { return e.err.Error() }
func (e *unsentError) Unwrap() error { return e.err }

// final reports whether a repeat would fail in the same way.
func (e *unsentError) final() bool {
	var banner *bannerError
	return errors.As(e.err, &banner) || errors.Is(e.err, errClientClosed) || errors.Is(e.err, exec.ErrNotFound) ||
		errors.Is(e.err, fs.ErrNotExist) || errors.Is(e.err, fs.ErrPermission) ||
		errors.Is(e.err, procmgr.ErrInvalid) || errors.Is(e.err, procmgr.ErrRefused)
}

var errClientClosed = xerrors.New("the client is closed")

// RoundTrip implements [http.RoundTripper].
func (d *dialed) RoundTrip(req *http.Request) (*http.Response, error) {
	g, err := d.connection(req.Context())
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // it is in memory
		}
		return nil, &unsentError{err}
	}
	res, err := g.conn.RoundTrip(req)
	if err != nil && req.Context().Err() == nil {
		if why := g.link.failure(); why != nil {
			err = why
		}
	}
	return res, err
}

// connection returns the connection, or waits for it.
func (d *dialed) connection(ctx context.Context) (*dialing, error) {
	g, err := d.join()
	if err != nil {
		return nil, err
	}
	select {
	case <-g.done:
		d.leave(g)
		return g, g.err
	case <-ctx.Done():
	}
	last := d.leave(g)
	if last && !errors.Is(context.Cause(ctx), errLate) {
		g.cancel() // the call is over, and nobody else waits
	}
	if why := g.reason(); why != nil {
		return nil, xerrors.Errorf("%v: %w", why, context.Cause(ctx))
	}
	return nil, xerrors.Errorf("there is no connection yet: %w", context.Cause(ctx))
}

// reason returns why the dial has failed, if it tells soon.
func (g *dialing) reason() error {
	over := time.NewTimer(reasonTime)
	defer over.Stop()
	select {
	case <-g.done:
		return g.err
	case <-over.C:
		return nil
	}
}

// join finds the dial or the connection that there is, or begins to dial. The
// caller leaves it.
func (d *dialed) join() (*dialing, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, errClientClosed
	}
	if d.now != nil && !d.now.usable() {
		d.now = nil
	}
	if d.now == nil {
		ctx, cancel := context.WithTimeout(context.Background(), dialTime)
		d.now = &dialing{cancel: cancel, done: make(chan struct{})}
		go d.connect(ctx, d.now)
	}
	d.now.waiters++
	return d.now, nil
}

// leave reports whether no other request waits for the dial.
func (d *dialed) leave(g *dialing) (last bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	g.waiters--
	return g.waiters == 0
}

// usable reports whether the connection can take a request, or the dial goes on.
func (g *dialing) usable() bool {
	select {
	case <-g.done:
		return g.err == nil && g.conn.Err() == nil && g.link.failure() == nil
	default:
		return true
	}
}

// connect dials, and sets the fields of g. It ends with the dial, for which
// nobody waits longer than a call does: it may ignore its context.
func (d *dialed) connect(ctx context.Context, g *dialing) {
	defer g.cancel()
	defer close(g.done)
	conn, err := d.dial(ctx)
	if err != nil {
		g.err = xerrors.Errorf("dial: %w", err)
		return
	}
	g.link = newLink(conn)
	if !d.enter(g.link) {
		g.link.end()
		g.err = errClientClosed
		return
	}
	transport := &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return g.link, nil },
		Protocols:   new(http.Protocols),
		HTTP2:       &http.HTTP2Config{SendPingTimeout: pingTime, PingTimeout: pongTime},
		// As that of a client's own transport.
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true,
	}
	transport.Protocols.SetUnencryptedHTTP2(true)
	if g.conn, err = transport.NewClientConn(ctx, "http", "localhost:80"); err != nil {
		g.err = xerrors.Errorf("dial: %w", g.link.refused(err))
		g.link.end()
		return
	}
	select {
	case <-g.link.established:
		g.link.inUse.Store(true)
		if g.conn.Err() != nil {
			g.link.end() // HTTP/2 may have tried that before
		}
	case <-g.link.broken:
		g.link.end()
		g.err = xerrors.Errorf("dial: %w", g.link.failure())
	case <-ctx.Done():
		text := "the far side does not answer"
		if said := g.link.said(); said != "" {
			text += "; it says: " + said
		}
		g.err = xerrors.New(text)
		g.link.end()
	}
}

// enter adds a link to those for which Close waits. It reports false if the
// transport is closed. A link leaves when it is closed.
func (d *dialed) enter(l *link) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	if d.links == nil {
		d.links = make(map[*link]struct{})
	}
	for old := range d.links {
		select {
		case <-old.closed:
			delete(d.links, old)
		default:
		}
	}
	d.links[l] = struct{}{}
	return true
}

// distrust closes the connection if nothing was heard of it since a request was
// sent that got no answer in time. The next request dials.
func (d *dialed) distrust() {
	d.mu.Lock()
	g := d.now
	d.mu.Unlock()
	if g == nil {
		return
	}
	select {
	case <-g.done:
		if g.err == nil && g.link.silence() >= answerTime {
			_ = g.conn.Close() // the link says why it was closed
		}
	default:
	}
}

// close ends the dial and the connections, and waits for the commands behind
// them. It does not wait for a dial that ignores its context.
func (d *dialed) close() {
	d.mu.Lock()
	d.closed = true
	if d.now != nil {
		d.now.cancel()
	}
	links := d.links
	d.links = nil
	d.mu.Unlock()
	for l := range links {
		l.end()
	}
	for l := range links {
		<-l.closed
	}
}
