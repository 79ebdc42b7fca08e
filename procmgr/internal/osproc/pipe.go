//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows

package osproc

import (
	"os"
	"sync"
	"syscall"
)

// mostRead is how many bytes drain reads if a member keeps writing.
const mostRead = 1 << 20

// A pipe is the read end of a tree's stdout and stderr.
type pipe struct {
	file *os.File
	conn syscall.RawConn
	out  Sink

	// mu is held from a read to the end of its Add, so that the bytes keep
	// their order. It guards reader and ended.
	mu     sync.Mutex
	reader reader
	ended  bool
	eof    chan struct{} // closed when nobody holds the other end any more
}

// newPipe takes over the read end.
func newPipe(fd uintptr, r reader, out Sink) *pipe {
	p := &pipe{file: os.NewFile(fd, "|0"), reader: r, out: out, eof: make(chan struct{})}
	p.conn, _ = p.file.SyscallConn() // fails only for a nil file
	return p
}

// collect reads until nobody holds the other end, or until close is called.
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
	p.end()
}

// drain reads the bytes that are in the pipe now, or about mostRead of them if
// a member keeps writing. It reports whether the pipe has ended.
func (p *pipe) drain() bool {
	_ = p.conn.Control(func(fd uintptr) {
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

// read moves one buffer to the sink. If the pipe is empty, n is 0, and more
// tells whether more bytes can still come.
func (p *pipe) read(fd uintptr) (n int, more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return 0, false
	}
	n, more = p.reader.read(fd, p.out)
	if !more {
		p.end()
	}
	return n, more
}

// end marks the end of the output, once. The caller holds mu.
func (p *pipe) end() {
	if p.ended {
		return
	}
	p.ended = true
	p.out.End()
	close(p.eof)
	p.reader.close()
}

// close ends collect, even if a process still holds the other end.
func (p *pipe) close() { _ = p.file.Close() }
