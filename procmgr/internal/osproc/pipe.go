//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows

package osproc

import (
	"os"
	"sync"
	"syscall"
)

// mostRead is about how many bytes one call of drain reads at most.
const mostRead = 1 << 20

// An end is this program's end of a pipe or of a terminal.
type end interface {
	Control(f func(fd uintptr)) error
	Close() error
}

// A pipe is the read end of a tree's stdout and stderr.
type pipe struct {
	end  end
	file *os.File // nil if the end is not in Go's poller
	conn syscall.RawConn
	out  Sink

	// mu guards reader and ended. It is held during a read and during the
	// Add of its bytes to out, so that the bytes keep their order.
	mu     sync.Mutex
	reader reader
	ended  bool
	eof    chan struct{} // closed when no process holds the write end, or after close
}

// newPipe returns a pipe that owns the read end fd. It reads from fd with r and
// passes the bytes to out.
func newPipe(fd uintptr, r reader, out Sink) *pipe {
	p := &pipe{file: os.NewFile(fd, "|0"), reader: r, out: out, eof: make(chan struct{})}
	p.conn, _ = p.file.SyscallConn() // fails only for a nil file
	p.end = struct {
		*os.File
		syscall.RawConn
	}{p.file, p.conn}
	return p
}

// collect reads until no process holds the write end, or until close is called.
func (p *pipe) collect() {
	if p.file == nil {
		return // it had ended before
	}
	whenReadable(p.file, p.conn, p.readAll)
	p.finish()
}

// readAll reads until the pipe is empty. It reports whether more bytes can still
// come.
func (p *pipe) readAll(fd uintptr) (more bool) {
	for {
		if n, more := p.read(fd); n == 0 {
			return more
		}
	}
}

// drain reads until the pipe is empty. If a member keeps writing, drain stops
// after about mostRead bytes. It reports whether the pipe has ended.
func (p *pipe) drain() bool {
	_ = p.end.Control(func(fd uintptr) {
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
	n, more = p.reader.read(fd, p.out)
	if !more {
		p.over()
	}
	return n, more
}

// finish marks the end of the output.
func (p *pipe) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over()
}

// over marks the end of the output. A second call does nothing. The caller holds
// mu.
func (p *pipe) over() {
	if p.ended {
		return
	}
	p.ended = true
	p.out.End()
	close(p.eof)
	p.reader.close()
}

// close closes the read end. This ends collect, even if a process still holds the
// write end.
func (p *pipe) close() { _ = p.end.Close() }
