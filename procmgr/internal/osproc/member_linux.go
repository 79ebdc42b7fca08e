package osproc

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr/internal/procstat"
)

// A member is a live process that belongs to a session. A pidfd holds it, so
// that it stays the process that was verified, even if its number is given
// away.
type member struct {
	pid   int
	pidfd int      // -1 if the system has no pidfds
	file  *os.File // the pidfd in the poller, while await waits for the member
}

// unseen stands for members that may be alive and that nobody could look for.
// The caller of await looks again.
var unseen = member{pid: -1, pidfd: -1}

// openMember opens a pidfd for a process, unless noPidfd is set. ok is false if
// the process has gone.
func openMember(pid int, noPidfd bool) (m member, ok bool) {
	if noPidfd {
		return member{pid: pid, pidfd: -1}, true
	}
	fd, err := unix.PidfdOpen(pid, 0)
	switch err {
	case nil:
		return member{pid: pid, pidfd: fd}, true
	case unix.ESRCH, unix.EINVAL, unix.ENOENT: // the last two: it is a thread
		return member{}, false
	}
	// There are no pidfds here (ENOSYS), or no descriptor is left for one.
	return member{pid: pid, pidfd: -1}, true
}

// alive reports whether any thread of the member runs. A zombie is not alive.
func (m member) alive() bool {
	if m.pidfd < 0 {
		return statAlive(m.pid)
	}
	return !readable(m.pidfd)
}

// statAlive asks by the number of a process. A process whose first thread is a
// zombie may have other threads that live.
func statAlive(pid int) bool {
	p, ok := procstat.Look(pid)
	if !ok {
		// If no descriptor is left to look, a process that exists counts as alive.
		return unix.Kill(pid, 0) != unix.ESRCH
	}
	return !p.Ended() || p.Threads > 1
}

// signal sends a signal. It is no error if the member has gone meanwhile.
func (m member) signal(sig syscall.Signal) error {
	var err error
	if m.pidfd >= 0 {
		err = unix.PidfdSendSignal(m.pidfd, sig, nil, 0)
	} else {
		err = unix.Kill(m.pid, sig) // only if there is no pidfd
	}
	if err == unix.ESRCH {
		return nil
	}
	return err
}

// reap reaps a member that has exited, if this program has adopted it as PID 1
// or as a subreaper. It does nothing to a child of another process, and nothing
// to a member that lives.
func (m member) reap() {
	if m.pidfd >= 0 {
		_ = unix.Waitid(unix.P_PIDFD, m.pidfd, nil, unix.WEXITED|unix.WNOHANG, nil)
	}
}

func (m member) close() {
	switch {
	case m.file != nil:
		_ = m.file.Close()
	case m.pidfd >= 0:
		_ = unix.Close(m.pidfd)
	}
}

func closeMembers(members []member) {
	for _, m := range members {
		m.close()
	}
}
