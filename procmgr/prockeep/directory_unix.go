//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// maxDirectory is the length of the longest path of a directory in which there can be a
// socket.
const maxDirectory = len(syscall.RawSockaddrUnix{}.Path) - 1 - len("/k-0123456789")

// checkDir returns an error if a directory is not this user's own. A link that somebody
// else has put there could lead to any directory of this user.
func checkDir(dir string) error {
	for _, look := range []func(string) (fs.FileInfo, error){os.Lstat, os.Stat} {
		info, err := look(dir)
		if err != nil {
			return err
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Geteuid() {
			return xerrors.Errorf("%s belongs to another user: %w", dir, procmgr.ErrInvalid)
		}
		if !info.IsDir() && info.Mode()&fs.ModeSymlink == 0 {
			return xerrors.Errorf("%s is no directory: %w", dir, procmgr.ErrInvalid)
		}
	}
	return nil
}

// makeDir makes a directory if it is not there, and keeps others out of it.
func makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil && !errors.Is(err, syscall.ENOTDIR) {
		return xerrors.Errorf("the directory cannot be made: %w", err)
	}
	if err := checkDir(dir); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = os.Chmod(dir, 0o700)
	}
	if err != nil {
		return xerrors.Errorf("others cannot be kept out of the directory: %w", err)
	}
	return nil
}

// lockDir makes the directory, and waits for its lock, which lasts until the file is closed.
func lockDir(ctx context.Context, dir string) (*os.File, error) {
	for ; ; pause(ctx) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := makeDir(dir); err != nil {
			return nil, err
		}
		f, err := os.Open(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the directory was removed just now
		}
		if err != nil {
			return nil, xerrors.Errorf("the directory cannot be locked: %w", err)
		}
		if own, err := f.Stat(); err == nil && lockExclusive(f) && isAt(dir+"/.", own) {
			return f, nil
		}
		f.Close()
	}
}

// lockShared waits for a shared lock of a file, which lasts until that is closed.
func lockShared(f *os.File) error {
	err := error(syscall.EINTR)
	for errors.Is(err, syscall.EINTR) {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH)
	}
	return err
}

// lockExclusive reports whether it got the exclusive lock of a file at once.
func lockExclusive(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// isAt reports whether a file is at a path.
func isAt(path string, info fs.FileInfo) bool {
	now, err := os.Lstat(path)
	return err == nil && os.SameFile(now, info)
}

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
