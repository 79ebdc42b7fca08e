package osproc

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// A forkTracker knows the starts that are between their fork and their exec.
// Until its exec, a child holds a copy of every descriptor of this program, and
// so the pipes of other trees.
type forkTracker struct {
	mu   sync.Mutex                 // guards the fields below; held for moments
	open map[chan struct{}]struct{} // those under way; each is closed at the end
	last time.Time                  // when the last start ended
}

// forks has the starts of every System: all are children of one program.
var forks = forkTracker{open: make(map[chan struct{}]struct{})}

// begin notes a start. The caller calls end when the program runs, or has
// failed to start.
func (t *forkTracker) begin() (end func()) {
	over := make(chan struct{})
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open[over] = struct{}{}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.open, over)
		t.last = time.Now()
		close(over)
	}
}

// wait returns when all starts that are under way now have ended, or when stop
// is closed. It reports whether there were any, or whether one ended less than
// justAgo ago. A start is reported as successful while its program still closes
// the descriptors that it must not inherit.
func (t *forkTracker) wait(stop <-chan struct{}, justAgo time.Duration) bool {
	t.mu.Lock()
	open := slices.Collect(maps.Keys(t.open))
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
