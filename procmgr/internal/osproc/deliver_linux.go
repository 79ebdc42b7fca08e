package osproc

import (
	"slices"
	"syscall"
)

// deliver sends a signal to all members of some sessions: first to the leader's
// group at once, then to every other member that is in the session or has left
// it. It returns the live members, and an error if the system did not permit it
// to signal one of them.
func (q *searches) deliver(sessions []*session, sig syscall.Signal) (live map[*session][]int, settled bool, err error) {
	q.lookBefore(sessions)
	r := &request{sessions: sessions, deep: true, sig: sig, grouped: make(map[*session]bool, len(sessions))}
	for _, s := range sessions {
		r.grouped[s] = s.deliverGroup(sig)
	}
	q.do(r)
	for _, s := range sessions {
		// A process that was a member at the last look is still one, whatever
		// it has left since.
		s.eachPin(func(m member) {
			if !slices.Contains(r.live[s], m.pid) && m.alive() {
				r.send(s, m)
			}
		})
		if s.spares(sig) && slices.Equal(r.live[s], []int{s.pid}) {
			s.signalGroup(sig) // the shell has not begun
		}
	}
	return r.live, r.settled, r.err
}

// killGroups sends SIGKILL to the leaders' groups.
func (q *searches) killGroups(sessions []*session) {
	q.lookBefore(sessions)
	for _, s := range sessions {
		s.deliverGroup(syscall.SIGKILL)
	}
}

// deliverGroup sends a signal to the leader's group, and SIGKILL to the whole
// cgroup if there is one. It reports whether the group has got it.
func (s *session) deliverGroup(sig syscall.Signal) bool {
	if sig == syscall.SIGKILL {
		s.killed.Store(true)
		if s.cgroup != nil {
			_ = s.cgroup.kill()
		}
	}
	if s.spares(sig) {
		return false
	}
	grouped := s.signalGroup(sig)
	if wakes(sig) {
		s.signalGroup(syscall.SIGCONT)
	}
	return grouped
}

// spares reports whether a signal goes to all members but the leader.
func (s *session) spares(sig syscall.Signal) bool { return s.wrapped && sig != syscall.SIGKILL }
