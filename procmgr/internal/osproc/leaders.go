package osproc

import "sync"

// leaders has the sessions of a System that have started and not ended: the
// number of each names its own session.
type leaders struct {
	mu  sync.Mutex // guards all; held for moments
	all map[*session]struct{}
}

func (l *leaders) add(s *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = make(map[*session]struct{})
	}
	l.all[s] = struct{}{}
}

func (l *leaders) remove(s *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, s)
}

// pids returns the numbers of all these sessions.
func (l *leaders) pids() map[int]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make(map[int]bool, len(l.all))
	for s := range l.all {
		if !s.empty.Load() {
			all[s.pid] = true
		}
	}
	return all
}
