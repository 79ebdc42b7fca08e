package servertest_test

import (
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A proxy stands between one side and a NATS server.
type proxy struct {
	url string

	mu      sync.Mutex
	backend string
	conns   map[net.Conn]struct{}
	mute    bool // what arrives is thrown away, and neither side is told
	away    bool // connections are closed at once
}

func newProxy(t testing.TB, backend string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{url: "nats://" + l.Addr().String(), conns: make(map[net.Conn]struct{})}
	p.move(backend)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { p.serve(near) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.cut()
		wg.Wait()
	})
	return p
}

func (p *proxy) serve(near net.Conn) {
	defer near.Close()
	if p.is(&p.away) {
		return
	}
	p.mu.Lock()
	backend := p.backend
	p.mu.Unlock()
	far, err := net.Dial("tcp", backend)
	if err != nil {
		return
	}
	defer far.Close()
	p.mu.Lock()
	p.conns[near] = struct{}{}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, near)
	}()
	pass := func(to, from net.Conn) {
		defer to.Close()
		buf := make([]byte, 32<<10)
		for {
			n, err := from.Read(buf)
			if err == nil && !p.is(&p.mute) {
				_, err = to.Write(buf[:n])
			}
			if err != nil {
				return
			}
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { pass(far, near) })
	wg.Go(func() { pass(near, far) })
	wg.Wait()
}

func (p *proxy) is(what *bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return *what
}

// set changes a proxy that is in use.
func (p *proxy) set(what *bool, is bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*what = is
}

// move leads new connections to another server: one that is started again may find
// its port taken.
func (p *proxy) move(backend string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.backend = strings.TrimPrefix(backend, "nats://")
}

// cut closes the connections that there are.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		c.Close()
	}
}
