package osproc

import "golang.org/x/sys/unix"

// TellsStopped reports whether Stopped can tell anything on this platform.
const TellsStopped = true

// Stopped reports whether the leader, a descendant of it or another member that
// is known is stopped by a signal. It makes no search.
func (t *Tree) Stopped() bool {
	s := t.session
	if stopped, reaped := s.leaderStopped(); !reaped {
		return stopped || descendantStopped(s.pid)
	}
	stopped := false
	s.eachPin(func(m member) { stopped = stopped || stateOf(m.pid) == 'T' && m.alive() })
	return stopped
}

// leaderStopped asks for the leader, unless that is reaped.
func (s *session) leaderStopped() (stopped, reaped bool) {
	s.num.Lock()
	defer s.num.Unlock()
	if s.reaped {
		return false, true
	}
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, s.pid, &info, unix.WSTOPPED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && info.Signo != 0, false
}

// descendantStopped looks for a stopped process among the children of one, their
// children and so on.
func descendantStopped(pid int) bool {
	for _, child := range children(pid) {
		if stateOf(child) == 'T' || descendantStopped(child) {
			return true
		}
	}
	return false
}

// stateOf returns the state of a process as in proc(5), or 0 if the process has
// gone.
func stateOf(pid int) byte {
	fields, err := readStat(pid)
	if err != nil || len(fields) == 0 {
		return 0
	}
	return fields[0][0]
}
