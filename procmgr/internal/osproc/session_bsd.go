//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package osproc

import (
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// MaxCommand is the longest command in bytes. These systems limit the arguments
// and the environment together, to 256 KiB or more. Beyond that the error is
// E2BIG.
const MaxCommand = 128<<10 - 1

// A session is the kernel's side of one tree. Here it is the leader's process
// group. Members that leave the group are not found.
type session struct {
	pid int

	// num guards reaped. It is also held while a signal is sent to the number:
	// so the leader cannot be reaped, and its number cannot be given away, in
	// between.
	num    sync.Mutex
	reaped bool

	empty   atomic.Bool // nothing is left in the group
	closing sync.Once
	done    chan struct{} // closed when nobody waits any longer
}

func newSession(l leader, _ string, _ end, _ *cgroup, _ bool) *session {
	return &session{pid: l.pid, done: make(chan struct{})}
}

// poll is how often the kernel is asked about an end that it does not tell.
const poll = 100 * time.Millisecond

// awaitLeader returns when the leader has exited. It does not reap the leader.
// It costs a thread.
func (s *session) awaitLeader() bool {
	kq, err := unix.Kqueue()
	if err != nil {
		return false // reap asks until the leader has exited
	}
	defer unix.Close(kq)
	unix.CloseOnExec(kq)
	var change unix.Kevent_t
	unix.SetKevent(&change, s.pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	change.Fflags = unix.NOTE_EXIT
	changes := []unix.Kevent_t{change}
	var events [1]unix.Kevent_t
	for {
		// The timeout serves only to look at done.
		n, err := unix.Kevent(kq, changes, events[:], &unix.Timespec{Sec: 1})
		if err == unix.EINTR || err == nil && n == 0 {
			changes = nil // it is registered
			select {
			case <-s.done:
				return false
			default:
				continue
			}
		}
		return err == nil // ESRCH: the leader is a zombie already
	}
}

// reap reaps the leader and returns its exit. It holds the lock that signals
// take. The kernel tells of an exit a moment before there is a zombie.
func (s *session) reap() Exit {
	for pause := time.Millisecond; ; pause = min(2*pause, poll) {
		if end, ok := s.tryReap(); ok {
			return end
		}
		select {
		case <-s.done:
			return Exit{Lost: true}
		case <-time.After(pause):
		}
	}
}

func (s *session) tryReap() (end Exit, ok bool) {
	s.num.Lock()
	defer s.num.Unlock()
	var status unix.WaitStatus
	var usage unix.Rusage
	got, err := unix.Wait4(s.pid, &status, unix.WNOHANG, &usage)
	switch {
	case err == unix.EINTR, err == nil && got == 0:
		return Exit{}, false
	case err != nil:
		s.reaped = true
		return Exit{Lost: true}, true
	}
	s.reaped = true
	end.Usage = &Usage{
		User:   time.Duration(usage.Utime.Nano()),
		System: time.Duration(usage.Stime.Nano()),
		MaxRSS: int64(usage.Maxrss) * maxRSSUnit,
	}
	if status.Signaled() {
		end.Signal = status.Signal()
	} else {
		end.Status = status.ExitStatus()
	}
	return end, true
}

// vacant reports whether the group is empty. A zombie in it counts as a member.
func (s *session) vacant(*os.File) bool { return unix.Kill(-s.pid, 0) == unix.ESRCH }

// sealed reports whether no member can leave the session unseen. It is true
// here, because a member that has left cannot be found at all.
func (s *session) sealed() bool { return true }

// release has nothing to free here.
func (s *session) release() {}

// abandon wakes the goroutines that wait in the session. Members that are still
// alive are left alone.
func (s *session) abandon() { s.closing.Do(func() { close(s.done) }) }

// A member stands for all processes that are left in the group.
type member struct{ pid int }

func (s *session) members() []member {
	if s.empty.Load() || s.vacant(nil) {
		return nil
	}
	return []member{{s.pid}}
}

func closeMembers([]member) {}

// await asks until the group is empty or the session is abandoned.
func (s *session) await([]member) {
	for !s.vacant(nil) {
		select {
		case <-s.done:
			return
		case <-time.After(poll):
		}
	}
}

// awaits reports false: nothing is known of a member that has left the group.
func (s *session) awaits() bool { return false }

func hasPidfds() bool { return false }
