package osproc

import (
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr/internal/procstat"
)

// TellsStopped reports whether Stopped can tell anything on this platform.
const TellsStopped = true

// stopped reports whether the leader, a descendant of it or another member that
// is known is stopped by a signal. It makes no search.
//
// As long as none of them has run, none has forked and none has stopped: so a
// tree that does nothing is looked at once, and then costs one short question
// for each process.
func (s *session) stopped() bool {
	if calm := s.calm.Load(); calm != nil && calm.lasts() {
		return false
	}
	calm := &calm{}
	calm.add(s.pid)
	stopped, reaped := s.leaderStopped()
	if reaped {
		stopped = false
		s.eachPin(func(m member) { stopped = stopped || isStopped(m.pid) && m.alive() })
		return stopped
	}
	if stopped || calm.descendantStopped(s.pid) {
		return true
	}
	s.calm.Store(calm)
	return false
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

// A calm has how long the leader and its descendants had run when they were
// looked at, and none was stopped.
type calm []struct {
	pid int
	ran int64 // nanoseconds; -1 if the system does not tell
}

// add adds a process, before it is looked at.
func (c *calm) add(pid int) {
	*c = append(*c, struct {
		pid int
		ran int64
	}{pid, procstat.RanFor(pid)})
}

// lasts reports whether none has run since. A process that runs at this moment
// may count as one that has not, until the kernel's next tick.
func (c calm) lasts() bool {
	for _, one := range c {
		if one.ran < 0 || procstat.RanFor(one.pid) != one.ran {
			return false
		}
	}
	return true
}

// descendantStopped looks for a stopped process among the children of one, their
// children and so on, and adds those to c.
func (c *calm) descendantStopped(pid int) bool {
	for _, child := range children(pid) {
		c.add(child)
		if isStopped(child) || c.descendantStopped(child) {
			return true
		}
	}
	return false
}

// isStopped reports whether a process is stopped by a signal.
func isStopped(pid int) bool {
	p, _ := procstat.Look(pid)
	return p.State == 'T'
}
