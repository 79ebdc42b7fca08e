//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package osproc

import (
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// grownSize is the room in the pipe of an output. A program that makes the pipe
	// non-blocking, as Node.js does, cuts the output of all others that print more at once
	// than there is room for.
	grownSize = 1 << 20
	grownRead = 256 << 10 // of the buffer that reads from a pipe that had much once
)

// grownBuffers are the readBuffers of a pipe that had much once.
var grownBuffers = sync.Pool{New: func() any { return new([grownRead]byte) }}

// newPipePair returns a pipe. Both ends are closed at an exec, so that a child
// keeps only the end that it is given. The read end does not block.
func newPipePair() (r, w int, err error) {
	var fds [2]int
	if err := pipe2(fds[:]); err != nil {
		return -1, -1, err
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
		return -1, -1, err
	}
	return fds[0], fds[1], nil
}

// whenReadable calls f each time that there is something to read, until f
// reports that no more bytes can come, or until the file is closed.
func whenReadable(_ *os.File, conn syscall.RawConn, f func(fd uintptr) (more bool)) {
	_ = conn.Read(func(fd uintptr) bool { return !f(fd) })
}

// A reader reads from a pipe that does not block.
type reader struct{ grown bool }

// read moves one buffer. If the pipe is empty, n is 0, and more tells whether
// more bytes can still come.
func (r *reader) read(fd uintptr, out Sink) (n int, more bool) {
	var buf []byte
	if r.grown {
		b := grownBuffers.Get().(*[grownRead]byte)
		defer grownBuffers.Put(b)
		buf = b[:]
	} else {
		b := readBuffers.Get().(*[pipeSize]byte)
		defer readBuffers.Put(b)
		buf = b[:]
	}
	var err error
	for err = unix.EINTR; err == unix.EINTR; {
		n, err = unix.Read(int(fd), buf)
	}
	if n <= 0 {
		return 0, err == unix.EAGAIN
	}
	out.Add(buf[:n])
	if n == pipeSize && !r.grown {
		r.grown = true
	}
	return n, true
}

func (r *reader) close() {}
