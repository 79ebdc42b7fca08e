package osproc

import (
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"
)

// deliver sends a signal to all members of some sessions: first to the leader's
// group at once, then to every other member that is in the session or has left
// it. It returns the live members, which it finds by one search for all the
// sessions, and an error if the system did not permit it to signal one of them.
func deliver(sessions []*session, known *leaders, sig syscall.Signal) (live map[*session][]int, err error) {
	grouped := make(map[*session]bool, len(sessions))
	for _, s := range sessions {
		if sig == syscall.SIGKILL && s.cgroup != nil {
			_ = s.cgroup.kill()
		}
		grouped[s] = s.signalGroup(sig)
	}
	found, _ := newSearch(sessions, known.pids()).run()
	live = make(map[*session][]int, len(found))
	send := func(s *session, m member) {
		live[s] = append(live[s], m.pid)
		if group, gerr := unix.Getpgid(m.pid); gerr == nil && group == s.pid && grouped[s] {
			return // the group's signal has reached it
		}
		if serr := m.signal(sig); serr != nil {
			err = xerrors.Errorf("pid %d cannot be signalled: %w", m.pid, serr)
		}
	}
	for _, s := range sessions {
		for _, m := range found[s] {
			if m != unseen {
				send(s, m)
			}
		}
		closeMembers(found[s])
		// A process that was a member at the last look is still one, whatever
		// it has left since.
		s.eachPin(func(m member) {
			if !slices.Contains(live[s], m.pid) && m.alive() {
				send(s, m)
			}
		})
	}
	return live, err
}
