//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package osproc

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/prompt"
	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

// stdio has the ends of a leader's stdin, stdout and stderr.
type stdio struct {
	terminal bool
	output   *os.File   // this program's end of stdout and stderr; of a terminal, the end for all three
	input    *os.File   // this program's end of stdin; nil: none of its own
	leader   [3]uintptr // its stdin, stdout and stderr, which block
	theirs   []*os.File // the ends that are the leader's alone
}

// openStdio opens the stdin, stdout and stderr that a command asks for. A child
// inherits the leader's ends alone.
func openStdio(c *Command, null *os.File) (*stdio, error) {
	if c.Stdin == StdinTerminal {
		return openTerminal(c.Size)
	}
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out := theirs.Fd()
	growPipe(int(out))
	s := &stdio{output: ours, leader: [3]uintptr{null.Fd(), out, out}, theirs: []*os.File{theirs}}
	if c.Stdin == StdinPipe {
		if theirs, ours, err = os.Pipe(); err != nil {
			s.close()
			return nil, err
		}
		s.input, s.leader[0], s.theirs = ours, theirs.Fd(), append(s.theirs, theirs)
	}
	return s, nil
}

// openTerminal opens a new terminal.
func openTerminal(size Size) (*stdio, error) {
	ours, theirs, err := pty.Open()
	if err != nil {
		return nil, terminalError(err)
	}
	defer ours.Close()
	fd := -1
	if err = pty.Setsize(ours, &pty.Winsize{Cols: uint16(size.Cols), Rows: uint16(size.Rows)}); err == nil {
		// The library leaves its end in a mode in which a read takes a thread.
		fd, err = unix.FcntlInt(ours.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	}
	if err != nil {
		theirs.Close()
		return nil, terminalError(err)
	}
	end := theirs.Fd()
	return &stdio{terminal: true, output: pollable(fd), leader: [3]uintptr{end, end, end}, theirs: []*os.File{theirs}}, nil
}

// pollable returns a file that owns a descriptor. Go's poller can wait for it.
func pollable(fd int) *os.File {
	_ = unix.SetNonblock(fd, true) // os.NewFile gives only a non-blocking descriptor to the poller
	return os.NewFile(uintptr(fd), "|0")
}

// terminalError explains why there is no terminal.
func terminalError(err error) error {
	switch {
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE), errors.Is(err, unix.ENOSPC), errors.Is(err, unix.ENOMEM):
		return xerrors.Errorf("no terminal is left for another process (%v); end some of them: %w", err, sentinel.ErrLimit)
	}
	return xerrors.Errorf("this system gives no terminal (%v): %w", err, errors.ErrUnsupported)
}

// release closes the leader's ends. As long as this program held one, it would
// never see the end of the output.
func (s *stdio) release() {
	for _, f := range s.theirs {
		f.Close()
	}
}

// close closes all ends.
func (s *stdio) close() {
	s.release()
	s.output.Close()
	s.input.Close() // nil has nothing to close
}

// newInput returns this program's end of stdin, nil if the stdin is empty. p
// has taken over the end of the output.
func (s *stdio) newInput(p *pipe) *Input {
	switch {
	case s.terminal:
		return &Input{file: p.file, conn: p.conn, terminal: true, gone: p.eof}
	case s.input != nil:
		in := &Input{file: s.input}
		in.conn, _ = in.file.SyscallConn() // fails only for a nil file
		return in
	}
	return nil
}

// whenReadable calls f each time that there is something to read, until f
// reports that no more bytes can come, or until the file is closed.
func whenReadable(_ *os.File, conn syscall.RawConn, f func(fd uintptr) (more bool)) {
	_ = conn.Read(func(fd uintptr) bool { return !f(fd) })
}

// readNow reads from a pipe that does not block. If the pipe is empty, n is 0, and
// more tells whether more bytes can still come.
func readNow(_ *os.File, fd uintptr, buf []byte) (n int, more bool) {
	err := error(unix.EINTR)
	for err == unix.EINTR {
		n, err = unix.Read(int(fd), buf)
	}
	return max(n, 0), n > 0 || err == unix.EAGAIN
}

// An Input is this program's end of a tree's stdin. One goroutine at a time may
// call its methods, except for Mode and close.
type Input struct {
	file     *os.File
	conn     syscall.RawConn
	terminal bool
	gone     <-chan struct{} // of a terminal: closed when no member has it open
	reader   prompt.Reader   // for Tree.Waiting
}

// patience is how long a write waits in one go. A terminal does not always tell
// when it has room again, and the end of a call's context is seen then.
const patience = 50 * time.Millisecond

// Write writes p until all of it is written, until a time, or until ctx ends. It tries
// at least once. n is the number of bytes taken. If n is less than len(p), the error
// says why; it is nil if the time was up. If stdin no longer has a reader, the error is
// [ErrStdinClosed].
func (in *Input) Write(ctx context.Context, p []byte, until time.Time) (n int, err error) {
	n, err = in.try(p)
	for n < len(p) && err == nil && ctx.Err() == nil && time.Now().Before(until) {
		_ = in.file.SetWriteDeadline(time.Now().Add(min(patience, time.Until(until))))
		var took int
		_ = in.conn.Write(func(uintptr) bool {
			took, err = in.try(p[n:])
			return took > 0 || err != nil
		})
		n += took
		if took == 0 && err == nil {
			took, err = in.try(p[n:]) // the deadline has passed, or the file is closed
			n += took
		}
	}
	if err == nil && n < len(p) {
		err = ctx.Err()
	}
	return n, err
}

// try writes as much as there is room for.
func (in *Input) try(p []byte) (n int, err error) {
	if in.isGone() {
		return 0, ErrStdinClosed
	}
	failed := in.conn.Control(func(fd uintptr) {
		for n < len(p) {
			took, e := unix.Write(int(fd), p[n:])
			switch {
			case e == unix.EINTR:
			case e == unix.EAGAIN:
				return
			case e == unix.EPIPE, e == unix.EIO:
				err = ErrStdinClosed
				return
			case e != nil:
				err = e
				return
			case took == 0:
				return
			default:
				n += took
			}
		}
	})
	if failed != nil {
		err = ErrStdinClosed
	}
	return n, err
}

func (in *Input) isGone() bool {
	select {
	case <-in.gone: // nil for a pipe
		return true
	default:
		return false
	}
}

// Mode returns the mode of the terminal as it is now.
func (in *Input) Mode() (m TerminalMode, err error) {
	if in.isGone() {
		return m, ErrStdinClosed
	}
	err = in.conn.Control(func(fd uintptr) {
		var t *unix.Termios
		if t, err = unix.IoctlGetTermios(int(fd), ioctlGetTermios); err == nil {
			m = TerminalMode{Echo: t.Lflag&unix.ECHO != 0, Lines: t.Lflag&unix.ICANON != 0, EOF: t.Cc[unix.VEOF]}
		}
	})
	if err != nil || in.isGone() {
		return m, ErrStdinClosed
	}
	return m, nil
}

// Close ends the input of a pipe.
func (in *Input) Close() {
	if !in.terminal {
		in.close()
	}
}

// close ends a write that is under way. in may be nil.
func (in *Input) close() {
	if in != nil {
		_ = in.file.Close()
	}
}
