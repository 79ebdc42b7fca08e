package servertest_test

import (
	"cmp"
	"errors"
	"net"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
)

// A wire leads from a connection to its server, and can be cut.
type wire struct {
	mu      sync.Mutex // guards the fields below
	backend string     // the address to dial; "" for the one of the connection
	conns   []net.Conn
	mute    bool // what is sent and what arrives is thrown away, and neither side is told
	away    bool // no connection can be made
}

// option has a connection use the wire.
func (w *wire) option() nats.Option { return nats.SetCustomDialer(w) }

// Dial implements [nats.CustomDialer].
func (w *wire) Dial(network, address string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away {
		return nil, errors.New("there is no way to the server")
	}
	conn, err := net.Dial(network, cmp.Or(w.backend, address))
	if err != nil {
		return nil, err
	}
	w.conns = append(w.conns, conn)
	return &wireConn{conn, w}, nil
}

// set changes a wire that is in use.
func (w *wire) set(what *bool, is bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*what = is
}

// move leads new connections to another server: one that is started again may find
// its port taken.
func (w *wire) move(url string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.backend = strings.TrimPrefix(url, "nats://")
}

// cut closes the connections that there are.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // it may be closed already
		}
		c.Close()
	}
	w.conns = nil
}

type wireConn struct {
	net.Conn
	wire *wire
}

func (c *wireConn) muted() bool {
	c.wire.mu.Lock()
	defer c.wire.mu.Unlock()
	return c.wire.mute
}

func (c *wireConn) Read(p []byte) (int, error) {
	for {
		if n, err := c.Conn.Read(p); err != nil || !c.muted() {
			return n, err
		}
	}
}

func (c *wireConn) Write(p []byte) (int, error) {
	if c.muted() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}
