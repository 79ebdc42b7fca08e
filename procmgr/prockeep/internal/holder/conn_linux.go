package holder

import (
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"
)

const (
	// maxMessage is the size of the largest message in bytes.
	maxMessage = 32 << 10
	// maxFiles is how many descriptors a message carries; the kernel takes 253.
	maxFiles = 64
)

// A conn sends and receives messages with descriptors. One goroutine at a time
// sends, and one receives.
type conn struct {
	file   *os.File
	buffer [maxMessage]byte
	oob    []byte
}

// newConn takes over a descriptor of a pair of sockets.
func newConn(fd int) (*conn, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, err
	}
	return &conn{file: os.NewFile(uintptr(fd), "holder"), oob: make([]byte, unix.CmsgSpace(maxFiles*4))}, nil
}

// pair returns the two ends of a connection. Neither survives an exec by itself.
func pair() (ours *conn, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	if ours, err = newConn(fds[0]); err != nil {
		_, _ = unix.Close(fds[0]), unix.Close(fds[1])
		return nil, nil, err
	}
	return ours, os.NewFile(uintptr(fds[1]), "keeper"), nil
}

// errSilent is the error of an end that does not read what it gets.
var errSilent = xerrors.New("the other side takes nothing")

// send sends a message. It fails if the other side takes nothing until the limit
// is over.
func (c *conn) send(message []byte, fds []int, limit time.Duration) error {
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	raw, err := c.file.SyscallConn()
	if err != nil {
		return err
	}
	late := time.Now().Add(limit)
	_ = c.file.SetWriteDeadline(late) // a socket has deadlines
	for {
		var failed error
		err := raw.Write(func(fd uintptr) bool {
			for {
				failed = unix.Sendmsg(int(fd), message, rights, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
				if !errors.Is(failed, unix.EINTR) {
					return !errors.Is(failed, unix.EAGAIN)
				}
			}
		})
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return errSilent
		case err != nil:
			return err
		case !errors.Is(failed, unix.ETOOMANYREFS):
			return failed
		case time.Now().After(late):
			return errSilent
		}
		time.Sleep(time.Millisecond) // too many descriptors of this user are on their way
	}
}

// try is send for a message that can be sent later just as well. It reports false
// if it was not sent.
func (c *conn) try(message []byte) (bool, error) {
	raw, err := c.file.SyscallConn()
	if err != nil {
		return false, err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) {
		failed = unix.Sendmsg(int(fd), message, nil, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
	}); err != nil {
		return false, err
	}
	if errors.Is(failed, unix.EAGAIN) || errors.Is(failed, unix.EINTR) {
		return false, nil
	}
	return failed == nil, failed
}

// A parcel is a message that was received. Its descriptors are the receiver's. No
// os.File has them, because the poller of that would wake the holder whenever a
// command writes.
type parcel struct {
	data []byte // valid until the next one is received
	fds  []int
}

// close closes the files that nobody has taken out of it.
func (p *parcel) close() {
	for _, fd := range p.fds {
		if fd >= 0 {
			_ = unix.Close(fd) // it was received for nothing
		}
	}
	p.fds = nil
}

// take takes a descriptor out of the parcel; it is -1 if that was not received.
func (p *parcel) take(i int) int {
	if i >= len(p.fds) {
		return -1
	}
	fd := p.fds[i]
	p.fds[i] = -1
	return fd
}

// takeFile is take for the descriptor of a file that never blocks.
func (p *parcel) takeFile(i int) *os.File {
	fd := p.take(i)
	if fd < 0 {
		return nil
	}
	return os.NewFile(uintptr(fd), "received")
}

// receive waits for the next message. If the end of the connection was forced by
// finish, it returns the messages that were sent before that, and then io.EOF.
func (c *conn) receive() (*parcel, error) {
	raw, err := c.file.SyscallConn()
	if err != nil {
		return nil, err
	}
	var got *parcel
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		got, failed = c.read(int(fd))
		return !errors.Is(failed, unix.EAGAIN)
	})
	if errors.Is(err, os.ErrDeadlineExceeded) {
		// Whoever holds the other end besides the keeper, such as a command just
		// before its exec, sends nothing.
		err = raw.Control(func(fd uintptr) { got, failed = c.read(int(fd)) })
		if errors.Is(failed, unix.EAGAIN) {
			return nil, io.EOF
		}
	}
	if err != nil {
		return nil, err
	}
	return got, failed
}

// read reads one message without a wait.
func (c *conn) read(fd int) (*parcel, error) {
	for {
		n, oobn, _, _, err := unix.Recvmsg(fd, c.buffer[:], c.oob, unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, err
		case n == 0:
			return nil, io.EOF
		}
		return &parcel{data: c.buffer[:n], fds: rights(c.oob[:oobn])}, nil
	}
}

// finish lets receive return what was sent so far, and nothing that is sent later.
func (c *conn) finish() { _ = c.file.SetReadDeadline(time.Unix(1, 0)) }

func (c *conn) close() { _ = c.file.Close() }

// rights returns the descriptors of a control message.
func rights(oob []byte) (all []int) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			continue
		}
		all = append(all, fds...)
	}
	return all
}

// fdOf returns the descriptor of a file. Its Fd method would make it one that
// blocks, for everybody who has it.
func fdOf(f *os.File) (fd int) {
	fd = -1
	raw, err := f.SyscallConn()
	if err == nil {
		_ = raw.Control(func(n uintptr) { fd = int(n) }) // it fails only if the file is closed
	}
	return fd
}
