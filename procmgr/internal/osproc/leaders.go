package osproc

import "sync"

// leaders is the set of the sessions that a System has started and still
// follows. No stranger can have the number of a session as long as the session
// has a member.
type leaders struct {
	mu  sync.Mutex // guards all; held only for a moment
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

// pids returns the set of the numbers of these sessions, without those that are
// already empty.
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
