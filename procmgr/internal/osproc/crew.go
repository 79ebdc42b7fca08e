package osproc

import "sync"

// maxIdle is how many goroutines of a crew wait for work at most.
const maxIdle = 4

// A crew runs functions in goroutines, and keeps a few of them for the next
// functions. A goroutine begins with a small stack and copies it each time that
// it grows, which costs more than most functions of a start take themselves.
type crew struct {
	mu     sync.Mutex // guards the fields below; held for moments
	idle   []chan func()
	closed bool
	ending sync.WaitGroup // the idle goroutines
}

// run calls f in a goroutine. Nobody waits for that goroutine until it is idle;
// then close does.
func (c *crew) run(f func()) {
	c.mu.Lock()
	var worker chan func()
	if n := len(c.idle); n > 0 {
		worker = c.idle[n-1]
		c.idle = c.idle[:n-1]
	}
	c.mu.Unlock()
	if worker == nil {
		go c.work(f)
		return
	}
	worker <- f // it is received soon, if not at once
}

func (c *crew) work(f func()) {
	next := make(chan func(), 1)
	for f != nil {
		f()
		f = c.rest(next)
	}
}

// rest returns the next function, or nil if the goroutine is to end. Meanwhile the
// goroutine is idle.
func (c *crew) rest(next chan func()) func() {
	c.mu.Lock()
	if c.closed || len(c.idle) == maxIdle {
		c.mu.Unlock()
		return nil
	}
	c.idle = append(c.idle, next)
	c.ending.Add(1)
	c.mu.Unlock()
	defer c.ending.Done()
	return <-next // nil after close
}

// close ends the goroutines that are idle, and those that become idle later.
func (c *crew) close() {
	c.mu.Lock()
	c.closed = true
	for _, worker := range c.idle {
		close(worker)
	}
	c.idle = nil
	c.mu.Unlock()
	c.ending.Wait()
}
