//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"context"
	"errors"
	"io/fs"
	"os"
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
