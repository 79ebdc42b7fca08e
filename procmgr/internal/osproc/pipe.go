//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows

package osproc

import (
	"os"
	"sync"
	"syscall"
)

const (
	// pipeSize is the size in bytes of a new pipe, and of the buffer that reads
	// from it.
	pipeSize = 64 << 10
	// grownSize is the room in the pipe of an output, where the system lets this
	// program choose. A program that makes the pipe non-blocking, as Node.js does,
	// cuts the output of all others that print more at once than there is room for.
	grownSize = 1 << 20
	// grownRead is the size of the buffer that reads from a pipe that had much once.
	grownRead = 256 << 10
	// mostRead is about how many bytes one call of drain reads at most.
	mostRead = 1 << 20
)

// These lend the memory for a read. A tree that prints nothing holds none.
var (
	readBuffers  = sync.Pool{New: func() any { b := make([]byte, pipeSize); return &b }}
	grownBuffers = sync.Pool{New: func() any { b := make([]byte, grownRead); return &b }}
)

// A pipe is the read end of a tree's stdout and stderr. Go's poller waits for it.
type pipe struct {
	file *os.File
	conn syscall.RawConn
	out  Sink

	// mu guards grown and ended. It is held during a read and during the Add of its
	// bytes to out, so that the bytes keep their order.
	mu    sync.Mutex
	grown bool
	ended bool
	eof   chan struct{} // closed when no process holds the write end, or after close
}

// newPipe returns a pipe that owns a read end. It passes the bytes to out.
func newPipe(file *os.File, out Sink) *pipe {
	p := &pipe{file: file, out: out, eof: make(chan struct{})}
	p.conn, _ = p.file.SyscallConn() // fails only for a nil file
	return p
}

// collect reads until no process holds the write end, or until close is called.
func (p *pipe) collect() {
	whenReadable(p.file, p.conn, func(fd uintptr) (more bool) {
		for {
			if n, more := p.read(fd); n == 0 {
				return more
			}
		}
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over()
}

// drain reads until the pipe is empty. If a member keeps writing, drain stops
// after about mostRead bytes. It reports whether the pipe has ended.
func (p *pipe) drain() bool {
	select {
	case <-p.eof:
		return true
	default:
	}
	_ = p.conn.Control(func(fd uintptr) { // an end that is closed has nothing more
		for left := mostRead; left >= 0; {
			n, _ := p.read(fd)
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

// read reads once, into one buffer, and passes the bytes to the sink. If the pipe
// is empty, n is 0, and more tells whether more bytes can still come.
func (p *pipe) read(fd uintptr) (n int, more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return 0, false
	}
	pool := &readBuffers
	if p.grown {
		pool = &grownBuffers
	}
	buf := pool.Get().(*[]byte)
	defer pool.Put(buf)
	n, more = readNow(p.file, fd, *buf)
	if n > 0 {
		p.out.Add((*buf)[:n])
		p.grown = p.grown || n == pipeSize
	} else if !more {
		p.over()
	}
	return n, more
}

// over marks the end of the output. A second call does nothing. The caller holds
// mu.
func (p *pipe) over() {
	if !p.ended {
		p.ended = true
		p.out.End()
		close(p.eof)
	}
}

// close closes the read end. This ends collect, even if a process still holds the
// write end.
func (p *pipe) close() { _ = p.file.Close() }

// A Signal is a signal as the system knows it.
type Signal = syscall.Signal

// The signals that end a tree.
const (
	SIGTERM = syscall.SIGTERM
	SIGINT  = syscall.SIGINT
	SIGKILL = syscall.SIGKILL
)

// wakes reports whether a signal is followed by SIGCONT: a program that is
// stopped takes it only when it is continued.
func wakes(sig Signal) bool { return sig == SIGTERM || sig == SIGINT }
