package osproc

import (
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// MaxCommand is the longest command in bytes: MAX_ARG_STRLEN of execve(2), 32
// pages including the NUL at the end.
const MaxCommand = 128<<10 - 1

// A session is the kernel's side of one tree: the leader, and everything that
// the leader started and that did not make a session of its own.
//
// The leader's number names the leader, its process group and its session. The
// number is ours as long as the leader is not reaped. After that it is ours as
// long as anything is left in the group or the session: the kernel gives a
// number away only when it names nothing any more.
type session struct {
	pid    int
	cookie string // the environment variable that every descendant gets

	// mark is the limit that every descendant inherits; 0 if the leader could
	// not be marked. whole is set if the leader had it before it could fork.
	mark   mark
	whole  bool
	forget sync.Once // the mark is given back
	// doubtful has the processes that have the mark, and of which the last search
	// could not tell whether they are members.
	doubtful atomic.Pointer[[]int]
	// proven has the processes that were found as members by more than the mark and
	// have no cookie, with the inodes of their directories in /proc. Searches alone
	// use it, one at a time.
	proven map[int]uint64

	// num guards reaped. It is also held while a signal is sent to the number:
	// so the leader cannot be reaped, and its number cannot be given away, in
	// between.
	num    sync.Mutex
	reaped bool

	// leader is a pidfd. It is nil if the system has no pidfds, or if the leader
	// was started without one.
	leader *polled

	// anchor is the tree's pipe. Before the leader is reaped, the owner of the
	// pipe is set to the leader's group: see holdsNumber.
	anchor end

	cgroup  *cgroup // nil if Config.Cgroup is not set
	noPidfd bool    // use no pidfds
	wrapped bool    // as in Command

	// empty is set when nothing is left in the session. Members that have left
	// it may still live. From then on the number is no longer the session's.
	empty atomic.Bool

	// calm has the processes at the last call of stopped, if none was stopped.
	calm atomic.Pointer[calm]

	// killed is set when SIGKILL was sent. From then on, a search kills each
	// member that it finds, at once.
	killed atomic.Bool

	// pins are the members that await waits for. mu guards pins, and it guards
	// that done is closed once: when nobody waits for the session any longer.
	mu   sync.Mutex
	pins []member
	done chan struct{}
}

// A leader is a process that has just been started.
type leader struct {
	pid, pidfd int // pidfd is -1 if there is none
	mark       mark
	whole      bool // it had the mark before its first instruction
	wrapped    bool // as in Command
	away       bool // it is started on a thread that is restricted
}

// newSession takes over a leader.
func newSession(l leader, cookie string, anchor end, group *cgroup, noPidfd bool) *session {
	s := &session{
		pid: l.pid, cookie: cookie, mark: l.mark, whole: l.whole, wrapped: l.wrapped,
		anchor: anchor, cgroup: group, noPidfd: noPidfd, done: make(chan struct{}),
	}
	if l.pidfd >= 0 {
		s.leader = &polled{fd: l.pidfd, leader: true}
	}
	if s.mark != 0 && !s.whole {
		s.markAgain(time.Millisecond)
	}
	return s
}

// markAgain marks the leader's descendants once more after a while, and then a
// few times. When a leader is marked late, one of its forks may be under way:
// such a child inherits no mark, and is not listed yet.
func (s *session) markAgain(after time.Duration) {
	time.AfterFunc(after, func() {
		s.num.Lock()
		defer s.num.Unlock()
		if s.reaped {
			return
		}
		s.mark.setAll(s.pid)
		if after < 100*time.Millisecond {
			s.markAgain(5 * after)
		}
	})
}

// awaitLeader returns when the leader has exited, if there is no pidfd. It does
// not reap the leader. It costs a thread.
func (s *session) awaitLeader() {
	exited := make(chan struct{})
	go func() { // ends with the leader
		_ = waitForExit(unix.P_PID, s.pid, 0) // on an error, another part of the program has reaped it
		close(exited)
	}()
	select {
	case <-exited:
	case <-s.done:
	}
}

// exit reaps the leader, which has exited, and returns how.
func (s *session) exit() Exit {
	if s.leader == nil {
		return exitOf(unix.P_PID, s.pid)
	}
	end := Exit{Lost: true}
	_ = s.leader.Control(func(fd uintptr) { end = exitOf(unix.P_PIDFD, int(fd)) })
	return end
}

// reap reaps the leader and returns its exit. It holds the lock that signals
// take.
func (s *session) reap() Exit {
	s.num.Lock()
	defer s.num.Unlock()
	_ = s.anchor.Control(func(fd uintptr) { setOwner(int(fd), s.pid) })
	s.reaped = true
	return s.exit()
}

// vacant reports whether nothing of the session is left, not even a zombie: its
// number names no process, group or session. It is one cheap call, on any
// descriptor, and it must be called only after reap. With a cgroup it reports
// whether nothing lives in the cgroup.
func (s *session) vacant(probe *os.File) bool {
	if s.cgroup != nil {
		return !s.cgroup.populated()
	}
	return !setOwner(int(probe.Fd()), s.pid)
}

// holdsNumber reports whether the session's number has been its own until now.
// That is so if the leader is not reaped, if the leader's group has a member,
// or if a member that was verified before is alive in the session: no process
// can enter a session. If the answer is true, everything that was read under
// the number before is about this session and about no stranger.
func (s *session) holdsNumber() bool {
	if !s.isReaped() {
		return true
	}
	held := false
	_ = s.anchor.Control(func(fd uintptr) { held = hasOwner(int(fd)) })
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

// eachPin calls f for each member that await waits for. No member is closed
// meanwhile.
func (s *session) eachPin(f func(member)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.pins {
		if m != unseen {
			f(m)
		}
	}
}

// awaits reports whether a member that await waits for is alive.
func (s *session) awaits() (alive bool) {
	s.eachPin(func(m member) { alive = alive || m.alive() })
	return alive
}

// signalGroup sends a signal to the leader's whole process group at once. It
// reports false if it cannot do that without a doubt about the number.
func (s *session) signalGroup(sig syscall.Signal) bool {
	err := error(unix.ENOSYS)
	_ = s.leader.Control(func(fd uintptr) {
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

// isReaped reports whether the leader is reaped.
func (s *session) isReaped() bool {
	s.num.Lock()
	defer s.num.Unlock()
	return s.reaped
}

// sealed reports whether no member can leave the session unseen.
func (s *session) sealed() bool { return s.cgroup != nil }

// release closes the leader's pidfd, and removes the cgroup if that is empty.
func (s *session) release() {
	s.cgroup.remove()
	if s.leader != nil {
		_ = s.leader.Close()
	}
}

// abandon wakes the goroutines that wait in the session. Members that are still
// alive are left alone.
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

// rescan is how often await looks again for a member for which it cannot wait.
const rescan = 100 * time.Millisecond

// await takes over the members. It returns when all of them have gone, or when
// the session is abandoned.
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
