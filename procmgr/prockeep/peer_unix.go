//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"syscall"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// dial connects to a keeper by its socket, or by its name if that was removed. If nobody
// listens at either, the error is errAbsent.
func dial(ctx context.Context, dir, token string) (net.Conn, error) {
	for _, address := range []string{socketPath(dir, token), nameOf(dir) + token} {
		if address == token {
			break // there are no names
		}
		conn, err := new(net.Dialer).DialContext(ctx, "unix", address)
		switch {
		case err == nil:
			failed := checkUser(conn)
			if failed == nil {
				return conn, nil
			}
			conn.Close()
			if address == socketPath(dir, token) {
				return nil, failed
			} // every user can take a name
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, syscall.ENOTDIR):
			return nil, err
		}
	}
	return nil, errAbsent
}

// isDead reports whether a keeper has certainly ended. A keeper listens from before its
// first line until its end, so it lives, even if it is stopped, while a connection to it
// is made or could be made.
func isDead(dir, token string) bool {
	conn, err := dial(context.Background(), dir, token)
	if err == nil {
		conn.Close()
	}
	return errors.Is(err, errAbsent)
}

// isBroken reports whether an error may be that of a connection which broke.
func isBroken(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, procmgr.ErrUnknown)
}

// control calls f with the descriptor of a connection.
func control(conn net.Conn, f func(fd int) error) error {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return errors.ErrUnsupported
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = f(int(fd)) }); err != nil {
		return err
	}
	return failed
}

// checkUser returns an error if the program at the other end of a connection runs as
// another user. Of a listener, that is the one who has made it.
func checkUser(conn net.Conn) error {
	return control(conn, func(fd int) error {
		uid, known, err := peerUser(fd)
		switch {
		case errors.Is(err, syscall.ENOTCONN):
			return errAbsent
		case err != nil:
			return xerrors.Errorf("the user at the other end of the socket is not known: %w", err)
		case known && uid != os.Geteuid():
			return xerrors.Errorf("the other end of the socket runs as user %d, and this program as %d: %w", uid, os.Geteuid(), procmgr.ErrInvalid)
		}
		return nil
	})
}

// isBoxed reports whether the program at the other end of a connection may be a command
// in a sandbox.
func isBoxed(conn net.Conn) bool {
	in := true
	err := control(conn, func(fd int) error {
		in = boxed(fd)
		return nil
	})
	return err != nil || in
}

// An ownUser is a listener that accepts programs of this user alone.
type ownUser struct {
	net.Listener
	log *slog.Logger
}

// Accept implements [net.Listener].
func (l ownUser) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if err = checkUser(conn); err == nil {
			return conn, nil
		}
		if !errors.Is(err, errAbsent) {
			l.log.Warn("a connection was refused", slog.String("error", err.Error()))
		}
		conn.Close()
	}
}
