package osproc

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// MaxCommand is the longest command in bytes: MAX_ARG_STRLEN of execve(2), 32
// pages with the NUL at the end.
const MaxCommand = 128<<10 - 1

// maxRSSUnit is the unit of rusage's ru_maxrss in bytes, see getrusage(2).
const maxRSSUnit = 1 << 10

// A session is the kernel's side of one process: the shell that leads it, and
// all that the shell started and that did not make a session of its own.
//
// The leader's number names it, its process group and its session. The number
// is ours as long as the leader has not been reaped, and after that as long as
// anything is left in the group or the session: the kernel gives a number away
// only when it names nothing any more.
type session struct {
	pid    int
	cookie string // the variable that marks every descendant

	// num guards reaped, and is held while the number is used to signal: so
	// the leader cannot be reaped, and its number given away, in between.
	num    sync.Mutex
	reaped bool

	// leader is a pidfd in the poller; nil where the system has none, or
	// where the leader was started without.
	leader *os.File

	// anchor is the process's pipe. Before the reaping its owner is set to
	// the leader's group: see holdsNumber.
	anchor *os.File

	cgroup  *cgroup // nil where Options.Cgroup is not set
	noPidfd bool    // do without pidfds

	// empty is set once nothing is left in the session; what has left it may
	// live. Then the number is no longer the session's.
	empty atomic.Bool

	// pins are the members that are being waited for; mu guards them, and
	// that done is closed once: when nobody waits for the session any longer.
	mu   sync.Mutex
	pins []member
	done chan struct{}
}

// newSession takes over the leader that has just been started. pidfd is -1
// where there is none.
func newSession(pid, pidfd int, cookie string, anchor *os.File, group *cgroup, noPidfd bool) *session {
	s := &session{pid: pid, cookie: cookie, anchor: anchor, cgroup: group, noPidfd: noPidfd, done: make(chan struct{})}
	if pidfd >= 0 {
		s.leader = pollable(pidfd, "pidfd")
	}
	return s
}

// pollable puts a descriptor under the care of Go's network poller.
func pollable(fd int, name string) *os.File {
	_ = unix.SetNonblock(fd, true) // os.NewFile takes this as its sign
	return os.NewFile(uintptr(fd), name)
}

// awaitLeader returns once the leader has exited. It does not reap it. It
// reports false where something else in the program has reaped it.
func (s *session) awaitLeader() bool {
	if s.leader == nil {
		exited := make(chan bool, 1)
		go func() { exited <- waitForExit(unix.P_PID, s.pid, 0) == nil }() // ends with the leader
		select {
		case ok := <-exited:
			return ok
		case <-s.done:
			return false
		}
	}
	conn, err := s.leader.SyscallConn()
	if err != nil {
		return false
	}
	var probe error
	err = conn.Read(func(fd uintptr) bool {
		// The poller tells only of changes: a leader that is already dead
		// has to be seen by asking.
		probe = waitForExit(unix.P_PIDFD, int(fd), unix.WNOHANG)
		return !errors.Is(probe, unix.EAGAIN)
	})
	return err == nil && probe == nil
}

// waitForExit asks waitid(2) for a child's exit and leaves it to be reaped.
// With WNOHANG it is EAGAIN where the child lives.
func waitForExit(idType, id, options int) error {
	var info unix.Siginfo
	for {
		err := unix.Waitid(idType, id, &info, unix.WEXITED|unix.WNOWAIT|options, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err == nil && info.Signo == 0: // WNOHANG: nothing yet
			return unix.EAGAIN
		}
		return err
	}
}

// reap takes the leader's exit, under the lock that signalling takes.
func (s *session) reap() Exit {
	s.num.Lock()
	defer s.num.Unlock()
	control(s.anchor, func(fd int) { setOwner(fd, s.pid) })
	s.reaped = true
	if s.leader != nil {
		return s.reapPidfd()
	}
	return reapPid(s.pid)
}

// vacant reports whether nothing of the session is left, a zombie included: its
// number names no process, group or session. It is one cheap call, on any
// descriptor, and it is to be asked after reap alone. With a cgroup it speaks
// of all that is in that.
func (s *session) vacant(probe *os.File) (vacant bool) {
	if s.cgroup != nil {
		return !s.cgroup.populated()
	}
	control(probe, func(fd int) { vacant = !setOwner(fd, s.pid) })
	return vacant
}

func (s *session) reapPidfd() Exit {
	end := Exit{Lost: true}
	control(s.leader, func(fd int) {
		var info unix.Siginfo
		var usage unix.Rusage
		err := error(unix.EINTR)
		for err == unix.EINTR {
			err = unix.Waitid(unix.P_PIDFD, fd, &info, unix.WEXITED|unix.WNOHANG, &usage)
		}
		if err != nil || info.Signo == 0 {
			return
		}
		end = Exit{Usage: newUsage(&usage)}
		if status := childStatus(&info); info.Code == cldExited {
			end.code = status
		} else {
			end.Signal = syscall.Signal(status)
		}
	})
	return end
}

// reapPid reaps by number: the leader is a zombie of ours, as nobody but the
// caller reaps it.
func reapPid(pid int) (end Exit) {
	var status unix.WaitStatus
	var usage unix.Rusage
	for {
		got, err := unix.Wait4(pid, &status, unix.WNOHANG, &usage)
		if err == unix.EINTR {
			continue
		}
		if err != nil || got != pid {
			return Exit{Lost: true}
		}
		break
	}
	end.Usage = newUsage(&usage)
	if status.Signaled() {
		end.Signal = status.Signal()
	} else {
		end.code = status.ExitStatus()
	}
	return end
}

func newUsage(u *unix.Rusage) *Usage {
	usage := &Usage{
		User:   time.Duration(u.Utime.Nano()),
		System: time.Duration(u.Stime.Nano()),
	}
	// Linux counts the peak of the program that forked as the child's own,
	// up to its exec. What does not exceed that is no measurement.
	var own unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &own) == nil && u.Maxrss > own.Maxrss {
		usage.MaxRSS = int64(u.Maxrss) * maxRSSUnit
	}
	return usage
}

// cldExited is CLD_EXITED of sigaction(2).
const cldExited = 1

// childStatus reads si_status, which x/sys leaves unnamed. siginfo_t has three
// ints, then, aligned to a pointer, si_pid, si_uid and si_status.
func childStatus(info *unix.Siginfo) int {
	const pointer = unsafe.Sizeof(uintptr(0))
	const at = (12+pointer-1)/pointer*pointer + 8
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(info), at)))
}

// ownerGroup is F_OWNER_PGRP of fcntl(2).
const ownerGroup = 2

// owner is struct f_owner_ex of fcntl(2).
type owner struct{ kind, pid int32 }

// setOwner makes a number the owner of a descriptor, as a group. It reports
// false where the kernel knows that number as nothing: not as a process, a
// group or a session. The owner would get SIGIO; as nobody asks for that, it
// gets nothing.
func setOwner(fd, pid int) bool {
	o := owner{kind: ownerGroup, pid: int32(pid)}
	_, _, errno := unix.Syscall(unix.SYS_FCNTL, uintptr(fd), unix.F_SETOWN_EX, uintptr(unsafe.Pointer(&o)))
	return errno != unix.ESRCH
}

// tellsDeadOwner reports whether F_GETOWN_EX tells an owner that is gone from
// one that is not: since Linux 5.12. Before, it goes on naming the number.
var tellsDeadOwner = sync.OnceValue(func() bool {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return false
	}
	var major, minor int
	_, err := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &major, &minor)
	return err == nil && (major > 5 || major == 5 && minor >= 12)
})

// hasPidfds reports whether the system has pidfds that can be waited for: Linux
// 5.4. Sandboxes may have none whatever version they claim to be.
func hasPidfds() bool {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return unix.Waitid(unix.P_PIDFD, fd, nil, unix.WEXITED|unix.WNOHANG, nil) == unix.ECHILD
}

// hasOwner reports whether the group that setOwner named has a member. The
// kernel has remembered the group itself, not its number.
func hasOwner(fd int) bool {
	if !tellsDeadOwner() {
		return false
	}
	var o owner
	_, _, errno := unix.Syscall(unix.SYS_FCNTL, uintptr(fd), unix.F_GETOWN_EX, uintptr(unsafe.Pointer(&o)))
	return errno == 0 && o.pid != 0
}

// holdsNumber reports whether the session's number has been its own until now.
// It has where the leader is not reaped, where the leader's group has a member,
// or where a member that was verified before is alive in the session: none can
// enter a session. What was read under the number before a true answer was
// about this session, and about no stranger.
func (s *session) holdsNumber() bool {
	s.num.Lock()
	reaped := s.reaped
	s.num.Unlock()
	if !reaped {
		return true
	}
	held := false
	control(s.anchor, func(fd int) { held = hasOwner(fd) })
	if held {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.pins {
		sid, err := unix.Getsid(m.pid)
		if err == nil && sid == s.pid && m.alive() {
			return true
		}
	}
	return false
}

// eachPin calls f with the members that are being waited for, while none of them
// is closed.
func (s *session) eachPin(f func(member)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.pins {
		if m != unseen {
			f(m)
		}
	}
}

// signalGroup sends a signal to the leader's process group, all at once. It
// reports false where that cannot be done without a doubt about the number.
func (s *session) signalGroup(sig syscall.Signal) bool {
	err := error(unix.ENOSYS)
	control(s.leader, func(fd int) {
		// Linux 6.9. The kernel goes by the group itself, not by its number.
		err = unix.PidfdSendSignal(fd, sig, nil, unix.PIDFD_SIGNAL_PROCESS_GROUP)
	})
	if err == nil || err == unix.ESRCH {
		return true
	}
	s.num.Lock()
	defer s.num.Unlock()
	return !s.reaped && unix.Kill(-s.pid, sig) == nil
}

// control calls f with a file's descriptor, where the file is there and open.
func control(file *os.File, f func(fd int)) {
	conn, err := file.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) { f(int(fd)) }) // an error: it is closed
}

// sealed reports whether nothing can leave the session unseen.
func (s *session) sealed() bool { return s.cgroup != nil }

// release frees what is held to watch the leader, once the session is empty.
func (s *session) release() {
	s.cgroup.remove()
	if s.leader != nil {
		_ = s.leader.Close()
	}
}

// abandon wakes whoever waits in the session: what lives on is left alone.
func (s *session) abandon() {
	s.release()
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.done:
		return
	default:
		close(s.done)
	}
	closeMembers(s.pins)
	s.pins = nil
}

// rescan is how often a member is looked for that cannot be waited for.
const rescan = 100 * time.Millisecond

// await takes the members over and returns once all of them have gone, or the
// session is closed.
func (s *session) await(members []member) {
	for i := range members {
		if m := &members[i]; m.pidfd >= 0 {
			m.file = pollable(m.pidfd, "pidfd")
		}
	}
	s.mu.Lock()
	select {
	case <-s.done:
		s.mu.Unlock()
		closeMembers(members)
		return
	default:
	}
	s.pins = members
	s.mu.Unlock()

	blind := false
	for _, m := range members {
		if m.file == nil {
			blind = true
			continue
		}
		conn, err := m.file.SyscallConn()
		if err != nil {
			continue
		}
		_ = conn.Read(func(fd uintptr) bool {
			if !readable(int(fd)) {
				return false
			}
			member{pidfd: int(fd)}.reap()
			return true
		})
	}
	if blind {
		select {
		case <-s.done:
		case <-time.After(rescan):
		}
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	closeMembers(s.pins)
	s.pins = nil
}
