package prochttp

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/xerrors"
)

const (
	// pingTime is after how much silence each side of a connection asks whether
	// the other one is there, and pongTime is how long the answer may take.
	pingTime = 10 * time.Second
	pongTime = 5 * time.Second
	// dialTime is how long a dial may take, the first bytes of the far side
	// included. Several attempts of a call may wait for one dial.
	dialTime = 30 * time.Second
	// maxBanner is how much an error quotes of what came instead of HTTP/2, in
	// bytes.
	maxBanner = 512
	// bannerTime is how long the rest of that may take to come.
	bannerTime = 200 * time.Millisecond
	// preface is what a client of HTTP/2 says first, see RFC 9113, section 3.4.
	preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	// frameHeader is the length of the header of an HTTP/2 frame in bytes.
	frameHeader = 9
)

var (
	errClientClosed = xerrors.New("the client is closed")
	errBanner       = xerrors.New("keep login scripts and banners from writing to its stdout")
)

// A dialer makes the connections of ClientOptions.Dial for an http.Transport. It
// hands one over only once the far side has begun to speak HTTP/2, so that a dial
// that fails says why, and no request was sent.
type dialer struct {
	dial   func(context.Context) (net.Conn, error)
	ctx    context.Context // ends with close
	cancel context.CancelFunc

	mu      sync.Mutex     // guards pending, and held while a connection is counted
	pending net.Conn       // the far side that has not spoken yet; nil: none
	conns   sync.WaitGroup // one goroutine for each connection
}

func newDialer(dial func(context.Context) (net.Conn, error)) *dialer {
	d := &dialer{dial: dial}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d
}

// connect makes a connection. It is the DialContext of a Transport, which goes on
// with it when the context of the request has ended.
func (d *dialer) connect(ctx context.Context, _, _ string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	defer context.AfterFunc(d.ctx, cancel)()
	c, err := d.open(ctx)
	if d.ctx.Err() != nil {
		err = errClientClosed
	}
	if err != nil {
		return nil, &unsentError{xerrors.Errorf("dial: %w", err)}
	}
	return c, nil
}

// open dials, and waits until the far side speaks. A goroutine, for which close
// waits, closes the connection.
func (d *dialer) open(ctx context.Context) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	conn, err := d.dial(ctx)
	if err != nil {
		return nil, err
	}
	closed := make(chan struct{})
	c := &dialedConn{Conn: conn, skip: len(preface), close: sync.OnceFunc(func() { close(closed) })}
	if !d.set(conn, func() {
		select {
		case <-d.ctx.Done():
		case <-closed:
		}
		_ = conn.Close() // the connection is over in any case
	}) {
		_ = conn.Close() // the Client is closed, so it is of no use
		return nil, errClientClosed
	}
	stop := context.AfterFunc(ctx, c.close)
	err = c.greet()
	if !stop() {
		err = xerrors.New(d.status())
	}
	d.set(nil, nil)
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// set sets the connection that is pending, and runs a function that ends with it. It
// reports false if the client is closed.
func (d *dialer) set(conn net.Conn, f func()) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pending = nil
	if conn != nil && d.ctx.Err() == nil {
		d.pending = conn
		d.conns.Go(f)
	}
	return d.pending != nil
}

// status says why there is no connection yet.
func (d *dialer) status() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	text := "the far side does not answer"
	if c, ok := d.pending.(*commandConn); ok {
		if said := c.said(); said != "" {
			text += "; it says: " + said
		}
	}
	return text
}

// close ends the dial and the connections, and waits for the commands behind them.
// It does not wait for a dial that ignores its context.
func (d *dialer) close() {
	d.mu.Lock()
	d.cancel()
	d.mu.Unlock()
	d.conns.Wait()
}

// A dialedConn is a connection on which the preface of HTTP/2 was sent, and the
// answer to it was seen.
type dialedConn struct {
	net.Conn
	skip  int    // how much of the preface the transport has still to write
	ahead []byte // what was read, and not by the transport
	close func() // begins to close it
}

// greet sends the preface, and reads the header of the first frame. The far side
// has to begin with its settings.
func (c *dialedConn) greet() error {
	_, failed := c.Conn.Write([]byte(preface)) // if it fails, the far side's answer says why
	head := make([]byte, maxBanner)
	n, err := io.ReadFull(c.Conn, head[:frameHeader])
	if err == nil && isSettings(head) {
		c.ahead = head[:n]
		return failed
	}
	if err == nil {
		// The rest of the line, or of the page, is most likely on its way.
		_ = c.Conn.SetReadDeadline(time.Now().Add(bannerTime)) // without a deadline, the far side speaks or ends
		more, _ := io.ReadFull(c.Conn, head[n:])
		n += more
	}
	banner, _, _ := bytes.Cut(head[:n], []byte{0}) // a frame begins with a NUL, and no banner has one
	text := fmt.Sprintf("the far side does not speak HTTP/2 at once, it begins with %q", banner)
	switch {
	case err == nil:
		return xerrors.Errorf("%s: %w", text, errBanner)
	case len(banner) == 0:
		return err
	}
	return xerrors.Errorf("%s, and ends (%v): %w", text, err, errBanner)
}

// isSettings reports whether this is the header of a SETTINGS frame that is no
// acknowledgement.
func isSettings(head []byte) bool {
	length := binary.BigEndian.Uint32(head) >> 8
	return head[3] == 4 && head[4] == 0 && binary.BigEndian.Uint32(head[5:]) == 0 && length%6 == 0 && length <= 16<<10
}

// Read implements [net.Conn].
func (c *dialedConn) Read(p []byte) (int, error) {
	if len(c.ahead) > 0 {
		n := copy(p, c.ahead)
		c.ahead = c.ahead[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}

// Write implements [net.Conn]. The preface was sent before.
func (c *dialedConn) Write(p []byte) (int, error) {
	skip := min(c.skip, len(p))
	c.skip -= skip
	n, err := c.Conn.Write(p[skip:])
	return skip + n, err
}

// Close implements [net.Conn]. HTTP/2 closes connections while calls wait for it,
// so Close does not wait for a command to end.
func (c *dialedConn) Close() error {
	c.close()
	return nil
}
