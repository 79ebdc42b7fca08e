//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package osproc

import (
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A session is the kernel's side of one tree. Here it is the leader's process
// group. Members that leave the group are not found.
type session struct {
	pid    int
	cookie string

	num    sync.Mutex // guards the fields below
	reaped bool
	end    Exit // how the leader has exited
	empty  bool // nothing is left in the group

	done chan struct{} // closed by Tree.Abandon
}

func (s *System) newSession(_ *Command, cookie string) (*session, error) {
	return &session{cookie: cookie, done: make(chan struct{})}, nil
}

func (s *session) lineage() Lineage { return Lineage{PID: s.pid, Cookie: s.cookie} }

func (s *session) start(file string, argv []string, attr *syscall.ProcAttr) (err error) {
	s.pid, _, err = syscall.StartProcess(file, argv, attr)
	return err
}

func (s *session) begin(*searches) {}

// poll is how often the kernel is asked about an end that it does not tell.
const poll = 100 * time.Millisecond

// awaitExit reaps the leader when it has exited, and returns true. It returns false if
// the session is abandoned before. It costs a thread.
func (s *session) awaitExit() bool {
	exited := make(chan struct{})
	go func() { // ends with the leader
		defer close(exited)
		leader, _ := os.FindProcess(s.pid) // never fails here
		state, err := leader.Wait()
		s.num.Lock()
		defer s.num.Unlock()
		s.reaped = true
		if err != nil {
			s.end.Lost = true
			return
		}
		if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			s.end.Signal = status.Signal()
		} else {
			s.end.Status = state.ExitCode()
		}
	}()
	select {
	case <-exited:
		return true
	case <-s.done:
		return false
	}
}

// reap returns how the leader has exited.
func (s *session) reap() Exit { return s.end }

// signal sends a signal to the group and reports whether anything is left in it; a
// zombie counts. An empty group gets no more signals, because its number may be given
// away.
func (s *session) signal(sig syscall.Signal) (left bool, err error) {
	s.num.Lock()
	defer s.num.Unlock()
	if s.empty {
		return false, nil
	}
	err = unix.Kill(-s.pid, sig)
	if err == unix.ESRCH {
		s.empty = s.reaped
		return false, nil
	}
	if err == nil && wakes(sig) {
		_ = unix.Kill(-s.pid, unix.SIGCONT)
	}
	return true, err
}

// unsure reports false: a member that has left the group can never be found, which
// the documentation says.
func (s *session) unsure() bool { return false }

func (s *session) release() {}

// await asks until the group is empty, until a time that is not zero, or until the
// session is abandoned.
func (s *session) await(_ []member, until time.Time) {
	for {
		wait := poll
		if !until.IsZero() {
			wait = min(wait, time.Until(until))
		}
		select {
		case <-s.done:
			return
		case <-time.After(wait):
		}
		if left, _ := s.signal(0); !left || !until.IsZero() && !time.Now().Before(until) {
			return
		}
	}
}

// A member stands for all processes that are left in the group.
type member struct{}

func closeMembers([]member) {}

// searches has nothing to share here.
type searches struct{}

func (*searches) open() error  { return nil }
func (*searches) close()       {}
func (*searches) blind() error { return nil }

// find tells which of some sessions have members. A process that has left its group
// cannot be found: the BSDs do not show a process's environment to other processes, or
// only at a cost that is too high.
func (*searches) find(sessions []*session) (found map[*session][]member, settled bool) {
	found = make(map[*session][]member)
	for _, s := range sessions {
		if left, _ := s.signal(0); left {
			found[s] = []member{{}}
		}
	}
	return found, true
}

// deliver sends a signal to the process groups of some sessions. The leader
// stands for whatever was left in its group.
func (*searches) deliver(sessions []*session, sig syscall.Signal) (live map[*session][]int, settled bool, err error) {
	live = make(map[*session][]int)
	for _, s := range sessions {
		left, failed := s.signal(sig)
		if left {
			live[s] = []int{s.pid}
		}
		if failed != nil {
			err = failed
		}
	}
	return live, true, err
}

const ioctlGetTermios = unix.TIOCGETA

// MaxLine is how many bytes of a line a terminal takes that collects lines; it
// drops the others. MAX_CANON is smaller on some of these systems.
const MaxLine = 1023

// growPipe does nothing: these systems grow a pipe by themselves.
func growPipe(int) {}

// pipe2 makes a pipe that no other child inherits.
func pipe2(fds []int) error {
	syscall.ForkLock.RLock() // macOS has no pipe2
	defer syscall.ForkLock.RUnlock()
	if err := unix.Pipe(fds); err != nil {
		return err
	}
	unix.CloseOnExec(fds[0])
	unix.CloseOnExec(fds[1])
	return nil
}

// ignoredUnknown reports whether this program ignores a signal that [signal.Ignored]
// does not know. It reports false here, because finding out would take C code.
func ignoredUnknown(syscall.Signal) bool { return false }
