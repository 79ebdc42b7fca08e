package osproc

import "golang.org/x/sys/unix"

// growPipe asks for a larger pipe. A user without privileges may have 64 MiB of
// pipes in all. If they are used up, the pipe stays as it is.
func growPipe(fd, size int) { _, _ = unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, size) }

// newOutput takes over this program's end of stdout and stderr. The System's
// poller waits for a pipe. A terminal is also written to, for which this program
// may have to wait, and so it is in Go's poller.
func (s *stdio) newOutput(out Sink) *pipe {
	if s.kind == StdinTerminal {
		return newPipe(uintptr(s.output), reader{}, out)
	}
	return &pipe{end: &polled{fd: s.output}, out: out, eof: make(chan struct{})}
}

// newPipePair returns a pipe. Both ends are closed at an exec, so that a child
// keeps only the end that it is given. The read end does not block.
func newPipePair() (r, w int, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return -1, -1, err
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
		return -1, -1, err
	}
	return fds[0], fds[1], nil
}
