//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package osproc

import (
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	pipeSize  = 64 << 10  // of a new pipe, and of the buffer that reads from it
	grownSize = 1 << 20   // of a pipe that was seen full
	grownRead = 256 << 10 // of the buffer that reads from that
)

// readBuffers and grownBuffers lend out the memory to read into: it is held
// while there is output, and not by a process that prints nothing.
var (
	readBuffers  = sync.Pool{New: func() any { return new([pipeSize]byte) }}
	grownBuffers = sync.Pool{New: func() any { return new([grownRead]byte) }}
)

// A pipe is the read end of a process's stdout and stderr.
type pipe struct {
	file *os.File
	conn syscall.RawConn
	out  Sink

	// mu is held from a read to the end of its write, so that bytes keep
	// their order; it guards grown and ended.
	mu    sync.Mutex
	grown bool
	ended bool
	eof   chan struct{} // closed once nobody holds the other end
}

// newPipe takes the read end over. It is non-blocking already.
func newPipe(fd int, out Sink) *pipe {
	p := &pipe{file: os.NewFile(uintptr(fd), "|0"), out: out, eof: make(chan struct{})}
	p.conn, _ = p.file.SyscallConn() // fails for a nil file alone
	return p
}

// collect reads until nobody holds the other end, or close is called.
func (p *pipe) collect() {
	_ = p.conn.Read(func(fd uintptr) bool {
		for {
			if n, more := p.read(int(fd)); n == 0 {
				return !more
			}
		}
	})
	p.end()
}

// drain reads what is in the pipe now, or a pipe's fill of it where somebody
// keeps writing, and reports whether that was the last.
func (p *pipe) drain() bool {
	_ = p.conn.Control(func(fd uintptr) {
		for left := grownSize; left >= 0; {
			n, _ := p.read(int(fd))
			if n == 0 {
				return
			}
			left -= n
		}
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

// read moves one buffer to the stream. Where there is nothing, n is 0 and more
// tells whether anything can still come.
func (p *pipe) read(fd int) (n int, more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return 0, false
	}
	var buf []byte
	if p.grown {
		b := grownBuffers.Get().(*[grownRead]byte)
		defer grownBuffers.Put(b)
		buf = b[:]
	} else {
		b := readBuffers.Get().(*[pipeSize]byte)
		defer readBuffers.Put(b)
		buf = b[:]
	}
	for {
		var err error
		n, err = unix.Read(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err == unix.EAGAIN {
			return 0, true
		}
		if err != nil || n == 0 {
			p.endLocked()
			return 0, false
		}
		break
	}
	p.out.Add(buf[:n])
	if n == pipeSize && !p.grown {
		p.grown = true
		growPipe(fd, grownSize)
	}
	return n, true
}

func (p *pipe) endLocked() {
	p.ended = true
	p.out.End()
	close(p.eof)
}
