package osproc

import (
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

// A session is the kernel's side of one tree: the leader, everything that the leader
// started and that did not make a session of its own, and the evidence for the rest.
//
// The leader's number names the leader, its process group and its session. The
// number is ours as long as the leader is not reaped. After that it is ours as long
// as a member that is held by a pidfd is in the session, because no process can enter
// a session that exists. A pidfd alone reserves no number.
type session struct {
	pid     int
	born    time.Time // shortly before the fork
	cookie  string    // the environment variable that every descendant gets
	mark    mark      // 0 in a cgroup
	slice   uint64    // the scheduler slice that every descendant inherits; 0 for none
	nested  bool      // no process gets the mark: all have the outer manager's mark
	late    bool      // a descendant may have neither mark nor slice
	dead    bool      // its System has died, and its number may be another's
	wrapped bool      // as in Command
	cgroup  *cgroup   // nil if Config.Cgroup is not set

	// leader is the leader's pidfd, in Go's poller.
	fd     int // of leader, until that exists
	leader *os.File
	conn   syscall.RawConn

	// num guards reaped. It is also held while a signal is sent to the number:
	// so the leader cannot be reaped, and its number cannot be given away, in
	// between.
	num    sync.Mutex
	reaped bool

	// ended is set when the leader has exited.
	ended atomic.Bool
	// killed is set when SIGKILL was sent. From then on, a search kills each
	// member that it finds, at once.
	killed atomic.Bool

	mu   sync.Mutex    // guards pins
	pins []member      // the members that await waits for
	done chan struct{} // closed by Tree.Abandon
}

// newSession returns a session whose leader is to be started.
func (s *System) newSession(c *Command, cookie string) (l *session, err error) {
	l = &session{cookie: cookie, wrapped: c.Wrapped, fd: -1, born: time.Now(), done: make(chan struct{})}
	if l.cgroup, err = s.cgroups.add(); err != nil || l.cgroup != nil {
		return l, err
	}
	marked, sliced := ownMark().tagged(), slicing().own != slicing().base
	l.mark, l.nested = takeMark(), marked || sliced
	if marked || !sliced {
		l.slice = l.mark.slice()
	}
	return l, nil
}

// bootID names the time since the system was booted.
var bootID = sync.OnceValue(func() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // "" if the system does not tell
	return strings.TrimSpace(string(text))
})

func (s *session) lineage() Lineage {
	l := Lineage{Boot: bootID(), Cookie: s.cookie, Mark: uint64(s.mark)}
	if s.cgroup != nil {
		l.Cgroup = s.cgroup.path
	}
	return l
}

// start starts the leader as attr has it. The thread may be restricted.
func (s *session) start(file string, argv []string, attr *syscall.ProcAttr) error {
	attr.Sys.PidFD = &s.fd
	if s.cgroup != nil {
		fd, err := s.cgroup.open()
		if err != nil {
			return cgroupError(s.cgroup.path, err)
		}
		defer unix.Close(fd)
		attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, fd
	}
	sliced, err := withSlice(s.slice, func() (err error) {
		s.pid, _, err = syscall.StartProcess(file, argv, attr)
		return err
	})
	if !sliced {
		s.slice = 0
	}
	if err != nil && s.cgroup != nil && unix.Access(file, unix.X_OK) == nil && !errors.Is(forkError(err, file), sentinel.ErrLimit) && !errors.Is(err, unix.E2BIG) {
		err = cgroupError(s.cgroup.path, err) // the program is not the reason
	}
	return err
}

// begin marks the leader, which has been started.
func (s *session) begin(q *searches) {
	s.leader = pollable(s.fd)
	s.conn, _ = s.leader.SyscallConn() // fails only for a nil file
	switch {
	case s.cgroup != nil:
	case s.slice > 0:
		_ = s.nested || s.mark.set(s.pid) // what could not be marked has the slice
	default:
		s.late = s.nested || !s.markLate(q.newest)
	}
}

// unsure reports whether a member may have escaped unseen.
func (s *session) unsure() bool { return s.late }

// awaitExit returns true when the leader has exited, and false if the session is
// abandoned before. It does not reap the leader.
func (s *session) awaitExit() bool {
	for awaitEnd(s.leader, s.done) {
		if waits, err := s.waitsToBeReaped(); waits || err != nil {
			s.ended.Store(true)
			return true
		}
		time.Sleep(10 * time.Millisecond) // a leader that a stranger traces exits for its tracer first
	}
	return false
}

// reap reaps the leader, which has exited, and returns its exit. It holds the lock
// that signals take.
func (s *session) reap() Exit {
	s.num.Lock()
	defer s.num.Unlock()
	s.reaped = true
	var status unix.WaitStatus
	if waits, _ := s.waitsToBeReaped(); !waits {
		return Exit{Lost: true}
	}
	if _, err := unix.Wait4(s.pid, &status, unix.WNOHANG, nil); err != nil {
		return Exit{Lost: true}
	}
	end := Exit{OOM: s.cgroup.outOfMemory()}
	if status.Signaled() {
		end.Signal = status.Signal()
	} else {
		end.Status = status.ExitStatus()
	}
	return end
}

// waitsToBeReaped reports whether the leader has exited and is not reaped. It fails if
// another part of the program has reaped it.
func (s *session) waitsToBeReaped() (waits bool, err error) {
	var info unix.Siginfo
	_ = s.conn.Control(func(fd uintptr) {
		err = unix.Waitid(unix.P_PIDFD, int(fd), &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	})
	return info.Signo != 0, err
}

// holdsNumber reports whether the session's number has been its own until now. Then
// everything that was read under the number before is about this session and about
// no stranger.
func (s *session) holdsNumber() bool {
	if !s.isReaped() {
		return true
	}
	held := false
	s.eachPin(func(m member) {
		sid, err := unix.Getsid(m.pid)
		held = held || err == nil && sid == s.pid && m.alive()
	})
	return held
}

func (s *session) isReaped() bool {
	s.num.Lock()
	defer s.num.Unlock()
	return s.reaped
}

// eachPin calls f for each member that await waits for. No member is closed
// meanwhile.
func (s *session) eachPin(f func(member)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.pins {
		f(m)
	}
}

// await takes over the members. It returns when all of them have gone, when a time
// that is not zero has come, or when the session is abandoned.
func (s *session) await(members []member, until time.Time) {
	for i := range members {
		members[i].file = pollable(members[i].fd)
		_ = members[i].file.SetReadDeadline(until)
	}
	s.mu.Lock()
	closeMembers(s.pins)
	s.pins = members
	select {
	case <-s.done:
		closeMembers(members)
		s.pins = nil
		members = nil
	default:
	}
	s.mu.Unlock()
	for _, m := range members {
		if !awaitEnd(m.file, s.done) {
			return
		}
		m.reap()
	}
}

// signalGroup sends a signal to the leader's whole process group at once. It
// reports false if it cannot do that without a doubt about the number.
func (s *session) signalGroup(sig syscall.Signal) bool {
	err := error(unix.ENOSYS)
	_ = s.conn.Control(func(fd uintptr) {
		// Linux 6.9. The kernel uses the group itself, not its number.
		err = unix.PidfdSendSignal(int(fd), sig, nil, unix.PIDFD_SIGNAL_PROCESS_GROUP)
	})
	if err == nil || err == unix.ESRCH {
		return true
	}
	s.num.Lock()
	defer s.num.Unlock()
	return !s.reaped && unix.Kill(-s.pid, sig) == nil
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

// send sends a signal to a member, unless the signal to the leader's group has reached
// it.
func (s *session) send(m member, sig syscall.Signal, grouped bool) error {
	if sig != syscall.SIGKILL && grouped {
		if group, err := unix.Getpgid(m.pid); err == nil && group == s.pid {
			return nil
		}
	}
	var err error
	if !s.spares(sig) || m.pid != s.pid {
		err = m.signal(sig)
	}
	if wakes(sig) {
		_ = m.signal(syscall.SIGCONT) // no more is permitted than the signal itself
	}
	return err
}

// spares reports whether a signal goes to all members but the leader.
func (s *session) spares(sig syscall.Signal) bool { return s.wrapped && sig != syscall.SIGKILL }

// release closes the leader's pidfd and the pins, gives the mark back, and removes
// the cgroup if that is empty.
func (s *session) release() {
	s.cgroup.remove()
	if s.leader != nil {
		_ = s.leader.Close()
	} else if s.fd >= 0 {
		unix.Close(s.fd)
	}
	if s.mark != 0 {
		s.mark.free()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	closeMembers(s.pins)
	s.pins = nil
}

// A member is a live process that belongs to a session. A pidfd holds it, so
// that it stays the process that was verified, even if its number is given
// away.
type member struct {
	pid  int
	fd   int
	file *os.File // owns fd while await waits for the member
}

// errThread is the error of openMember for the number of a thread.
var errThread = errors.New("a thread")

// openMember opens a pidfd for a process. The error is ESRCH if that has gone.
func openMember(pid int) (m member, err error) {
	m.pid = pid
	m.fd, err = unix.PidfdOpen(pid, 0)
	if err == unix.EINVAL || err == unix.ENOENT {
		err = errThread
	}
	return m, err
}

// alive reports whether any thread of the member runs. A zombie is not alive.
func (m member) alive() bool { return !readable(m.fd) }

// signal sends a signal. It is no error if the member has gone meanwhile.
func (m member) signal(sig syscall.Signal) error {
	if err := unix.PidfdSendSignal(m.fd, sig, nil, 0); err != unix.ESRCH {
		return err
	}
	return nil
}

// mostStopping is how long stop waits. A member that waits for a disk does not stop.
const mostStopping = 20 * time.Millisecond

// stop stops a member that is a child of this program. It reports whether the member has
// stopped, or exited.
func (m member) stop() bool {
	if m.signal(unix.SIGSTOP) != nil {
		return false
	}
	for began := time.Now(); time.Since(began) < mostStopping; time.Sleep(10 * time.Microsecond) {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PIDFD, m.fd, &info, unix.WSTOPPED|unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if err != nil || info.Signo != 0 {
			return err == nil
		}
	}
	return false
}

// reap reaps a member that has exited, if this program has adopted it as PID 1
// or as a subreaper. It does nothing to a child of another process, and nothing
// to a member that lives.
func (m member) reap() { _ = unix.Waitid(unix.P_PIDFD, m.fd, nil, unix.WEXITED|unix.WNOHANG, nil) }

func (m member) close() {
	if m.file != nil {
		_ = m.file.Close()
	} else {
		_ = unix.Close(m.fd)
	}
}

func closeMembers(members []member) {
	for _, m := range members {
		m.close()
	}
}

// rescan is how often awaitEnd looks if the poller has no room for another file.
const rescan = 100 * time.Millisecond

// awaitEnd returns true when the process of a pidfd has ended, and false after the
// deadline of the file, or when it is closed.
func awaitEnd(file *os.File, done <-chan struct{}) bool {
	conn, err := file.SyscallConn()
	if err != nil {
		return false
	}
	for {
		ended := false
		err := conn.Read(func(fd uintptr) bool {
			ended = readable(int(fd))
			return ended
		})
		if ended || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, os.ErrClosed) {
			return ended
		}
		select {
		case <-done:
			return false
		case <-time.After(rescan):
		}
	}
}

// readable reports whether a descriptor is readable now. It does not wait. A
// pidfd is readable when all threads of its process have exited.
func readable(fd int) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, 0)
		if err == unix.EINTR {
			continue
		}
		return err == nil && n > 0
	}
}

// checkKernel fails if waitid cannot wait for a pidfd. Linux has this since 5.4. A
// sandbox may lack it, even if it reports a newer version. A kernel that knows P_PIDFD
// says that this process is not its own child.
func checkKernel() error {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err == nil {
		defer unix.Close(fd)
		if err = unix.Waitid(unix.P_PIDFD, fd, nil, unix.WEXITED|unix.WNOHANG, nil); err == unix.ECHILD {
			return nil
		}
	}
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
		return err
	}
	return xerrors.Errorf("this kernel has no pidfds, which are needed to hold processes (Linux 5.4): %v: %w", err, errors.ErrUnsupported)
}
