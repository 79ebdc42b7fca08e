package osproc

import (
	"sync"
	"syscall"
)

// A request asks a search for the live members of some sessions.
type request struct {
	sessions []*session
	deep     bool // also look for cookies
	keep     bool // the members are handed over
	// sig is sent to each member as soon as it is found; 0 for none. grouped has
	// the sessions whose leader's group has got it already.
	sig     syscall.Signal
	grouped map[*session]bool

	// The answers: the members to keep, or the numbers of those that were
	// signalled; whether none was missed; and whether one could not be
	// signalled.
	found   map[*session][]member
	live    map[*session][]int
	settled bool
	err     error
}

// searches are the searches for the members of the sessions that a System follows.
// All callers who ask at the same time share one. One search is made at a time, and
// a caller who asks meanwhile gets the answers of the next one. So each answer is of
// a search that began after the question, and however many callers ask, they wait
// for two searches at most.
type searches struct {
	leaders
	turn      sync.Mutex // held during a search; it guards strangers
	strangers strangers

	mu   sync.Mutex // guards next; held for moments
	next *batch
}

// A batch has the requests that one search answers.
type batch struct {
	requests []*request
	done     chan struct{} // closed when they are answered
}

// do answers a request. The first of a batch makes the search for all of them.
func (q *searches) do(r *request) {
	q.mu.Lock()
	b, first := q.next, q.next == nil
	if first {
		b = &batch{done: make(chan struct{})}
		q.next = b
	}
	b.requests = append(b.requests, r)
	q.mu.Unlock()
	if !first {
		<-b.done
		return
	}
	q.turn.Lock()
	defer q.turn.Unlock()
	q.mu.Lock()
	q.next = nil // a later request may ask for processes that this search has passed
	q.mu.Unlock()
	b.answer(q.pids(), &q.strangers)
	close(b.done)
}

func (b *batch) answer(known map[int]bool, strangers *strangers) {
	for _, r := range b.requests {
		r.found, r.live = make(map[*session][]member), make(map[*session][]int)
	}
	f := newSearch(b.requests, known, strangers)
	settled := f.run()
	for _, r := range b.requests {
		r.settled = settled
	}
	if settled {
		f.over()
	}
	f.handOver()
}

// find looks for the live members of some sessions: those that have left their
// session, and those that are still in it. It reports false if it may have missed
// one. A deep look also reads environments. The caller closes the members.
func (q *searches) find(sessions []*session, deep bool) (found map[*session][]member, settled bool) {
	r := &request{sessions: sessions, deep: deep, keep: true}
	q.do(r)
	return r.found, r.settled
}
