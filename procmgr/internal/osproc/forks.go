package osproc

import (
	"sync"
	"time"
)

// A forkTracker knows the starts that are between their fork and their exec.
// Until then a child holds a copy of every descriptor of this program, the
// pipes of other processes included.
type forkTracker struct {
	mu   sync.Mutex // guards what follows; held for moments
	open map[chan struct{}]struct{}
	last time.Time // when one ended
}

// forks has those of every System: they are children of one program.
var forks = forkTracker{open: make(map[chan struct{}]struct{})}

// begin notes a start; the caller calls what it returns once the program runs,
// or has failed to.
func (t *forkTracker) begin() (end func()) {
	done := make(chan struct{})
	t.mu.Lock()
	t.open[done] = struct{}{}
	t.mu.Unlock()
	return func() {
		t.mu.Lock()
		delete(t.open, done)
		t.last = time.Now()
		t.mu.Unlock()
		close(done)
	}
}

// wait returns once the starts that are on their way now have ended, or stop is
// closed. It reports whether there were any, or one just ago: a start is told
// to have succeeded while its program still drops what it is not to inherit.
func (t *forkTracker) wait(stop <-chan struct{}, justAgo time.Duration) bool {
	t.mu.Lock()
	open := make([]chan struct{}, 0, len(t.open))
	for done := range t.open {
		open = append(open, done)
	}
	recent := time.Since(t.last) < justAgo
	t.mu.Unlock()
	for _, done := range open {
		select {
		case <-done:
		case <-stop:
			return true
		}
	}
	return recent || len(open) > 0
}
