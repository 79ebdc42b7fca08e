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

// newPipePair returns a pipe that no other child inherits. Its read end does
// not block.
func newPipePair() (r, w int, err error) {
	var fds [2]int
	syscall.ForkLock.RLock() // macOS has no pipe2
	err = unix.Pipe(fds[:])
	if err == nil {
		unix.CloseOnExec(fds[0])
		unix.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return -1, -1, err
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
		return -1, -1, err
	}
	return fds[0], fds[1], nil
}
