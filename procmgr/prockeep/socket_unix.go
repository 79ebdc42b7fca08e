//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"path/filepath"
	"syscall"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// A keeper listens at a socket in its directory, which belongs to this user alone, and on
// Linux also at an abstract address, at which it is found if the directory was removed.

// socketPath returns the path of a keeper's socket.
func socketPath(dir, token string) string { return filepath.Join(dir, "k-"+token) }

var errAbsent = xerrors.New("no keeper runs")

// dial connects to a keeper by its socket, or by its name if the socket was removed. If
// there is no listener at either, the error is errAbsent.
func dial(ctx context.Context, dir, token string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socketPath(dir, token))
	if isAbsent(err) {
		conn, err = dialName(ctx, dir, token)
	}
	if isAbsent(err) {
		return nil, errAbsent
	}
	return conn, err
}

// isAbsent reports whether an error says that there is no listener at an address.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOTDIR)
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

// isBroken reports whether an error may come from a broken connection.
func isBroken(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, procmgr.ErrUnknown)
}
