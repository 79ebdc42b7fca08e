package main

import (
	"context"
	"net"
	"os"
	"sync"
	"time"
)

// A gate is the way of one machine to its servers. While it is shut, bytes go
// neither way and nobody is told, as if a cable was pulled. It is the
// nats.CustomDialer of the machine.
type gate struct {
	mu   sync.Mutex    // guards the field below
	open chan struct{} // closed while bytes pass
}

func newGate() *gate {
	g := &gate{open: make(chan struct{})}
	close(g.open)
	return g
}

// shut stops all bytes.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.open:
		g.open = make(chan struct{})
	default:
	}
}

// let lets bytes pass again.
func (g *gate) let() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.open:
	default:
		close(g.open)
	}
}

// way returns a channel that is closed while, or once, bytes pass.
func (g *gate) way() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open
}

// dialTime is how long a machine waits for a connection.
const dialTime = 2 * time.Second

// Dial implements nats.CustomDialer.
func (g *gate) Dial(network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), dialTime)
	defer cancel()
	select {
	case <-g.way():
	case <-ctx.Done():
		return nil, os.ErrDeadlineExceeded
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &gated{Conn: conn, gate: g, closed: make(chan struct{})}, nil
}

// A gated is a connection through a gate.
type gated struct {
	net.Conn
	gate   *gate
	once   sync.Once
	closed chan struct{}

	mu       sync.Mutex // guards the field below
	deadline time.Time  // of writes
}

// Read holds back what was read while the gate is shut.
func (c *gated) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	select {
	case <-c.gate.way():
		return n, err
	case <-c.closed:
		return 0, net.ErrClosed
	}
}

func (c *gated) Write(p []byte) (int, error) {
	way := c.gate.way()
	select {
	case <-way:
		return c.Conn.Write(p) // no timer for the usual case
	default:
	}
	c.mu.Lock()
	deadline := c.deadline
	c.mu.Unlock()
	var late <-chan time.Time
	if !deadline.IsZero() {
		timer := time.NewTimer(time.Until(deadline))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-way:
		return c.Conn.Write(p)
	case <-late:
		return 0, os.ErrDeadlineExceeded
	case <-c.closed:
		return 0, net.ErrClosed
	}
}

func (c *gated) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	c.deadline = t
	c.mu.Unlock()
	return c.Conn.SetWriteDeadline(t)
}

func (c *gated) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
