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

// pipe2 makes a pipe that no other child inherits.
func pipe2(fds []int) error { return unix.Pipe2(fds, unix.O_CLOEXEC) }
