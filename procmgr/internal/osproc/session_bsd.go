//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package osproc

import (
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// A session is the kernel's side of one tree. Here it is the leader's process
// group. Members that leave the group are not found.
type session struct {
	pid    int
	cookie string
	exited chan struct{} // closed when the leader was reaped
	done   chan struct{} // closed by Tree.Abandon

	num    sync.Mutex // guards the fields below
	reaped bool
	end    Exit // how the leader has exited
	empty  bool // nothing is left in the group
}

func (s *System) newSession(_ *Command, cookie string) (*session, error) {
	return &session{cookie: cookie, exited: make(chan struct{}), done: make(chan struct{})}, nil
}

func (s *session) start(file string, argv []string, attr *syscall.ProcAttr) (err error) {
	s.pid, _, err = syscall.StartProcess(file, argv, attr)
	return err
}

// begin reaps the leader when it has exited. That costs a thread.
func (s *session) begin(*searches) {
	go func() { // ends with the leader
		defer close(s.exited)
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

func (s *session) release() {}

const ioctlGetTermios = unix.TIOCGETA

// MaxLine is how many bytes of a line a terminal takes that collects lines; it
// drops the others. MAX_CANON is smaller on some of these systems.
const MaxLine = 1023

// growPipe does nothing: these systems grow a pipe by themselves.
func growPipe(int) {}

// ignoredUnknown reports whether this program ignores a signal that [signal.Ignored]
// does not know. It reports false here, because finding out would take C code.
func ignoredUnknown(syscall.Signal) bool { return false }
