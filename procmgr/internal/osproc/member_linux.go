package osproc

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// A member is a live process that belongs to a session, held by a pidfd, so
// that it stays the one that was verified whatever becomes of its number.
type member struct {
	pid   int
	pidfd int      // -1 where the system has no pidfds
	file  *os.File // pidfd in the poller, once it is waited for
}

// unseen stands for what may live where nobody could look. It is looked for
// again.
var unseen = member{pid: -1, pidfd: -1}

// openMember opens a pidfd, unless it is to do without; ok is false where the
// process has gone.
func openMember(pid int, noPidfd bool) (m member, ok bool) {
	if noPidfd {
		return member{pid: pid, pidfd: -1}, true
	}
	fd, err := unix.PidfdOpen(pid, 0)
	switch err {
	case nil:
		return member{pid: pid, pidfd: fd}, true
	case unix.ESRCH, unix.EINVAL:
		return member{}, false
	}
	// No pidfds here (ENOSYS), or no descriptor left for one.
	return member{pid: pid, pidfd: -1}, true
}

// alive reports whether any thread of the member runs: a zombie is not alive.
func (m member) alive() bool {
	if m.pidfd < 0 {
		return statAlive(m.pid)
	}
	return !readable(m.pidfd)
}

// statAlive reads /proc/PID/stat: a process whose first thread is a zombie may
// have others that live.
func statAlive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		// Without a descriptor to look through, what is there is alive.
		return !errors.Is(err, fs.ErrNotExist) && unix.Kill(pid, 0) != unix.ESRCH
	}
	// The name in parentheses may hold anything; the last one ends it. After
	// it come the state, and 17 fields on the number of threads, see proc(5).
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 18 {
		return false
	}
	dead := fields[0][0] == 'Z' || fields[0][0] == 'X'
	return !dead || string(fields[17]) != "1" && string(fields[17]) != "0"
}

// signal sends a signal. One that has gone meanwhile needs none.
func (m member) signal(sig syscall.Signal) error {
	var err error
	if m.pidfd >= 0 {
		err = unix.PidfdSendSignal(m.pidfd, sig, nil, 0)
	} else {
		err = unix.Kill(m.pid, sig) // only where the system has no pidfds
	}
	if err == unix.ESRCH {
		return nil
	}
	return err
}

// reap takes a member that has exited off this program's hands, where this is
// the PID 1 or the subreaper that has adopted it. Of anybody else's child, and
// of one that lives, it takes nothing.
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
