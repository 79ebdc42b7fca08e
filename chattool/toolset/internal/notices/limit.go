package notices

import (
	"context"
	"sync"
	"time"
)

// A limit is a context that ends after a while, as one of [context.WithTimeout]
// does. But it takes a timer only if somebody waits for its end. A manager that
// answers at once looks at Err alone, and a timer would take longer than the
// answer, since it may have to wake a thread.
type limit struct {
	context.Context // the parent
	end             time.Time

	mu     sync.Mutex
	timed  context.Context // nil until somebody needs it
	cancel context.CancelFunc
	over   bool
}

// within returns a context that ends after d, or when it is released.
func within(parent context.Context, d time.Duration) *limit {
	return &limit{Context: parent, end: time.Now().Add(d)}
}

func (l *limit) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	if l.cancel != nil {
		l.cancel()
	}
}

// wait returns a context with a timer. The caller holds mu.
func (l *limit) wait() context.Context {
	if l.timed == nil {
		l.timed, l.cancel = context.WithDeadline(l.Context, l.end)
		if l.over {
			l.cancel()
		}
	}
	return l.timed
}

// now returns the context that tells how things are at this moment. The caller
// holds mu.
func (l *limit) now() context.Context {
	if l.timed == nil && !l.over && l.Context.Err() == nil && time.Now().Before(l.end) {
		return l.Context
	}
	return l.wait()
}

// Done implements [context.Context].
func (l *limit) Done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wait().Done()
}

// Err implements [context.Context].
func (l *limit) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now().Err()
}

// Deadline implements [context.Context].
func (l *limit) Deadline() (time.Time, bool) {
	if end, ok := l.Context.Deadline(); ok && end.Before(l.end) {
		return end, true
	}
	return l.end, true
}

// Value implements [context.Context]. A context that is made of this one asks
// for Done first. So it finds the context with the timer here, and needs no
// goroutine to follow it.
func (l *limit) Value(key any) any {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now().Value(key)
}
