package procmgr

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// deliver sends a signal to everything that belongs to some processes: to the
// shell's group at once, then to whatever else is in the session or has left it.
// It returns the live members that it found, by one search for all of them.
func (l *Local) deliver(rs []*record, sig syscall.Signal) map[*record][]int {
	sessions := make([]*session, len(rs))
	grouped := make(map[*session]bool, len(rs))
	for i, r := range rs {
		sessions[i] = r.session
		grouped[r.session] = r.session.signalGroup(sig)
	}
	found := newSearch(sessions, l.leaders()).run()
	live := make(map[*record][]int, len(found))
	for _, r := range rs {
		for _, m := range found[r.session] {
			live[r] = append(live[r], m.pid)
			if group, err := unix.Getpgid(m.pid); err != nil || group != r.session.pid || !grouped[r.session] {
				m.signal(sig)
			}
		}
		closeMembers(found[r.session])
	}
	return live
}

// members looks for what lives in the session.
func (s *session) members() []member { return newSearch([]*session{s}, nil).run()[s] }

// escapees looks for what has left one of the sessions, and for what is in it.
// known are sessions that belong to somebody else.
func escapees(sessions []*session, known map[int]bool) map[*session][]member {
	return newSearch(sessions, known).run()
}

func closeMembers(members []member) {
	for _, m := range members {
		m.close()
	}
}

// sysProcAttr asks for a new session, and for a pidfd where they are in use.
func (l *Local) sysProcAttr(pidfd *int) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if !l.opts.noPidfd {
		attr.PidFD = pidfd
	}
	return attr
}
