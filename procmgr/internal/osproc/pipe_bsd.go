//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package osproc

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// growPipe does nothing: these systems grow a pipe by themselves.
func growPipe(fd, size int) {}

// newOutput takes over this program's end of stdout and stderr.
func (s *stdio) newOutput(out Sink) *pipe { return newPipe(uintptr(s.output), reader{}, out) }

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
