package osproc

import (
	"crypto/rand"
	"errors"
	"os"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// pipeSize is that of a new pipe, and of the buffer that reads from it.
const pipeSize = 64 << 10

// readBuffers lend out the memory to read into: it is held while there is
// output, and not by a process that prints nothing.
var readBuffers = sync.Pool{New: func() any { return new([pipeSize]byte) }}

// newPipePair returns a pipe whose read end Go's poller can wait for, which
// takes one with a name, and whose write end can be inherited.
func newPipePair() (r, w windows.Handle, err error) {
	name, err := windows.UTF16PtrFromString(`\\.\pipe\toolproc-` + rand.Text())
	if err != nil {
		return 0, 0, err
	}
	// One instance, which must be the first: what cannot be guessed cannot be
	// there already, and whoever opened it before us would fail our own open.
	r, err = windows.CreateNamedPipe(name,
		windows.PIPE_ACCESS_INBOUND|windows.FILE_FLAG_OVERLAPPED|windows.FILE_FLAG_FIRST_PIPE_INSTANCE,
		windows.PIPE_TYPE_BYTE|windows.PIPE_WAIT|windows.PIPE_REJECT_REMOTE_CLIENTS,
		1, 0, pipeSize, 0, nil)
	if err != nil {
		return 0, 0, err
	}
	inherit := &windows.SecurityAttributes{InheritHandle: 1}
	inherit.Length = uint32(unsafe.Sizeof(*inherit))
	w, err = windows.CreateFile(name, windows.GENERIC_WRITE|windows.FILE_READ_ATTRIBUTES, 0, inherit, windows.OPEN_EXISTING, 0, 0)
	if err != nil {
		_ = windows.CloseHandle(r)
		return 0, 0, err
	}
	return r, w, nil
}

// A pipe is the read end of a process's stdout and stderr.
type pipe struct {
	file *os.File
	conn syscall.RawConn
	out  Sink

	// mu is held from a read to the end of its write, so that bytes keep
	// their order; it guards ended and what a read takes.
	mu    sync.Mutex
	ended bool
	io    windows.Overlapped
	eof   chan struct{} // closed once nobody holds the other end
}

// newPipe takes the read end over.
func newPipe(handle windows.Handle, out Sink) (*pipe, error) {
	event, err := windows.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		return nil, err
	}
	p := &pipe{file: os.NewFile(uintptr(handle), "|0"), out: out, eof: make(chan struct{})}
	p.io.HEvent = event
	p.conn, _ = p.file.SyscallConn() // fails for a nil file alone
	return p, nil
}

// collect reads until nobody holds the other end, or close is called.
func (p *pipe) collect() {
	for {
		// A read of no bytes returns once there are some.
		_, err := p.file.Read(nil)
		p.drain()
		if err != nil {
			break
		}
	}
	p.end()
}

// drain reads what is in the pipe now, or a few pipes' fill of it where somebody
// keeps writing, and reports whether that was the last.
func (p *pipe) drain() bool {
	_ = p.conn.Control(func(fd uintptr) {
		for left := 16 * pipeSize; left >= 0; {
			n := p.read(windows.Handle(fd))
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

// read moves one buffer to the stream, without waiting for it.
func (p *pipe) read(handle windows.Handle) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return 0
	}
	there, err := available(handle)
	if err != nil {
		p.endLocked()
		return 0
	}
	if there == 0 {
		return 0
	}
	buf := readBuffers.Get().(*[pipeSize]byte)
	defer readBuffers.Put(buf)
	var n uint32
	// The handle is in Go's completion port, and the lowest bit of the event
	// keeps this read out of that.
	io := &p.io
	event := io.HEvent
	*io = windows.Overlapped{HEvent: event | 1}
	err = windows.ReadFile(handle, buf[:min(there, pipeSize)], &n, io)
	if errors.Is(err, windows.ERROR_IO_PENDING) {
		err = windows.GetOverlappedResult(handle, io, &n, true)
	}
	io.HEvent = event
	if err != nil {
		p.endLocked()
		return 0
	}
	p.out.Add(buf[:n])
	return int(n)
}

var peekNamedPipe = windows.NewLazySystemDLL("kernel32.dll").NewProc("PeekNamedPipe")

// available returns how many bytes are in a pipe. It is an error where there are
// none, and nobody holds the other end.
func available(handle windows.Handle) (int, error) {
	var n uint32
	ok, _, err := peekNamedPipe.Call(uintptr(handle), 0, 0, 0, uintptr(unsafe.Pointer(&n)), 0)
	if ok == 0 {
		return 0, err
	}
	return int(n), nil
}

func (p *pipe) endLocked() {
	p.ended = true
	p.out.End()
	close(p.eof)
	_ = windows.CloseHandle(p.io.HEvent)
}

// discard closes a pipe that nothing was started with: the stream goes on.
func (p *pipe) discard() {
	p.close()
	_ = windows.CloseHandle(p.io.HEvent)
}
