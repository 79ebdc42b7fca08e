//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"syscall"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// dial connects to the socket of a keeper.
func dial(ctx context.Context, socket string) (*net.UnixConn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	switch {
	case err == nil:
		return conn.(*net.UnixConn), nil //nolint:forcetypeassert // the network is "unix"
	case isAbsent(err):
		return nil, errAbsent
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, err
}

// isAbsent reports whether an error says that nobody listens.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}

// checkPeer returns an error if the server at the other end runs as another user.
// The server of a socket is who has made it: nobody can hand over a connection of
// the kernel's with a false name.
func checkPeer(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	uid, known := 0, false
	if failed := raw.Control(func(fd uintptr) { uid, known, err = peerUser(int(fd)) }); failed != nil {
		return failed
	}
	switch {
	case errors.Is(err, syscall.ENOTCONN):
		return errEnded
	case err != nil:
		return xerrors.Errorf("the user of the keeper cannot be told: %w", err)
	case known && uid != os.Geteuid():
		return xerrors.Errorf("the keeper runs as user %d, and this program as %d: %w", uid, os.Geteuid(), procmgr.ErrInvalid)
	}
	return nil
}

// alive reports whether the keeper at the other end lives.
func (l *line) alive() bool {
	raw, err := l.conn.SyscallConn()
	if err != nil {
		return false
	}
	silent := false
	err = raw.Read(func(fd uintptr) bool {
		var one [1]byte
		_, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		silent = errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR)
		return true
	})
	return err == nil && silent
}
