package osproc

import "sync"

// leaders are the sessions of a System whose number is that of a session of
// their own: they have started and not ended.
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

// pids are the numbers of them all.
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
