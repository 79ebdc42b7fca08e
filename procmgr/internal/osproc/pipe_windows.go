package osproc

import (
	"crypto/rand"
	"errors"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// newPipePair returns a pipe. Go's poller can wait for its read end, which
// works only for a pipe with a name. A child can inherit its write end.
func newPipePair() (r, w windows.Handle, err error) {
	name, err := windows.UTF16PtrFromString(`\\.\pipe\toolproc-` + rand.Text())
	if err != nil {
		return 0, 0, err
	}
	// The pipe has one instance, which must be the first. Nobody can guess the
	// name, so the pipe cannot exist already. If another program opened it
	// before us, our own open would fail.
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

// whenReadable calls f each time that there is something to read, until f
// reports that no more bytes can come, or until the file is closed.
func whenReadable(file *os.File, conn syscall.RawConn, f func(fd uintptr) (more bool)) {
	for more := true; more; {
		_, err := file.Read(nil) // it returns when there are some bytes
		_ = conn.Control(func(fd uintptr) { more = f(fd) })
		if err != nil {
			return
		}
	}
}

// A reader has the memory and the event that a read from a pipe needs.
type reader struct{ io windows.Overlapped }

func newReader() (reader, error) {
	event, err := windows.CreateEvent(nil, 1, 0, nil)
	return reader{windows.Overlapped{HEvent: event}}, err
}

// read moves one buffer and does not wait for bytes. If the pipe is empty, n is
// 0, and more tells whether more bytes can still come.
func (r *reader) read(fd uintptr, out Sink) (n int, more bool) {
	handle := windows.Handle(fd)
	there, err := available(handle)
	if err != nil {
		return 0, false
	}
	if there == 0 {
		return 0, true
	}
	buf := readBuffers.Get().(*[pipeSize]byte)
	defer readBuffers.Put(buf)
	var got uint32
	// The handle belongs to Go's completion port. The lowest bit of the event
	// keeps this read out of that port.
	event := r.io.HEvent
	r.io = windows.Overlapped{HEvent: event | 1}
	err = windows.ReadFile(handle, buf[:min(there, pipeSize)], &got, &r.io)
	if errors.Is(err, windows.ERROR_IO_PENDING) {
		err = windows.GetOverlappedResult(handle, &r.io, &got, true)
	}
	r.io.HEvent = event
	if err != nil {
		return 0, false
	}
	out.Add(buf[:got])
	return int(got), true
}

func (r *reader) close() { _ = windows.CloseHandle(r.io.HEvent) }

var peekNamedPipe = windows.NewLazySystemDLL("kernel32.dll").NewProc("PeekNamedPipe")

// available returns how many bytes are in a pipe. It returns an error if the
// pipe is empty and nobody holds the other end.
func available(handle windows.Handle) (int, error) {
	var n uint32
	ok, _, err := peekNamedPipe.Call(uintptr(handle), 0, 0, 0, uintptr(unsafe.Pointer(&n)), 0)
	if ok == 0 {
		return 0, err
	}
	return int(n), nil
}
