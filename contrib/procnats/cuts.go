package procnats

import (
	"context"
	"sync"

	"github.com/nats-io/nats.go"
)

// A cuts tells all calls over a connection that it was lost. It has one listener
// for all of them, because nats.go walks over all of its listeners, under the
// lock of the connection, whenever one goes.
type cuts struct {
	nc *nats.Conn

	mu    sync.Mutex // guards the fields below
	calls map[*cutCall]struct{}
	end   func() // of the listener; nil if there is none
}

// A cutCall is a call in flight.
type cutCall struct{ cancel context.CancelCauseFunc }

// enter has a call canceled with errCut once the connection is lost, until leave
// is called.
func (c *cuts) enter(cancel context.CancelCauseFunc) (leave func()) {
	one := &cutCall{cancel}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.calls) == 0 {
		c.calls = make(map[*cutCall]struct{})
		c.listen()
	}
	c.calls[one] = struct{}{}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if delete(c.calls, one); len(c.calls) == 0 {
			c.end()
		}
	}
}

// listen starts the listener. It ends with the last call, which does not wait
// for it. The caller holds mu.
func (c *cuts) listen() {
	status := c.nc.StatusChanged(nats.RECONNECTING, nats.CLOSED)
	over := make(chan struct{})
	c.end = func() {
		close(over)
		c.nc.RemoveStatusListener(status)
	}
	go func() {
		for {
			select {
			case <-over:
				return
			case _, ok := <-status:
				if !ok {
					return
				}
				c.cut()
			}
		}
	}()
}

// cut cancels all calls that are in flight.
func (c *cuts) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for one := range c.calls {
		one.cancel(errCut)
	}
}
