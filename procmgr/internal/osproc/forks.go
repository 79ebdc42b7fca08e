package osproc

import (
	"slices"
	"sync"
	"time"
)

// A forkTracker knows the starts that are between their fork and their exec.
// Until its exec, a child holds a copy of every descriptor of this program, and
// so the pipes of other trees.
type forkTracker struct {
	mu   sync.Mutex // guards the fields below; held for moments
	open []*forking // under way
	last time.Time  // when the last start ended
}

// A forking is one start.
type forking struct {
	over chan struct{} // closed when it has ended; nil if nobody waits for that
}

// forks has the starts of every System: all are children of one program.
var forks forkTracker

// begin notes a start. The caller calls end when the program runs, or has
// failed to start.
func (t *forkTracker) begin() *forking {
	f := new(forking)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open = append(t.open, f)
	return f
}

func (t *forkTracker) end(f *forking) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.open, f)
	t.open = slices.Delete(t.open, i, i+1)
	t.last = time.Now()
	if f.over != nil {
		close(f.over)
	}
}

// wait returns when all starts that are under way now have ended, or when stop
// is closed. It reports whether there were any, or whether one ended less than
// justAgo ago. A start is reported as successful while its program still closes
// the descriptors that it must not inherit.
func (t *forkTracker) wait(stop <-chan struct{}, justAgo time.Duration) bool {
	t.mu.Lock()
	open := make([]chan struct{}, 0, len(t.open))
	for _, f := range t.open {
		if f.over == nil {
			f.over = make(chan struct{})
		}
		open = append(open, f.over)
	}
	recent := time.Since(t.last) < justAgo
	t.mu.Unlock()
	for _, over := range open {
		select {
		case <-over:
		case <-stop:
			return true
		}
	}
	return recent || len(open) > 0
}
