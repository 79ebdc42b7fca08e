//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// nameLock is the file that a program has locked while it opens the directory.
const nameLock = "lock"

// socketPath returns the path of a keeper's socket.
func socketPath(dir, token string) string { return filepath.Join(dir, "k-"+token) }

// maxDirectory is the length of the longest path of a directory in which there can be a
// socket.
const maxDirectory = len(syscall.RawSockaddrUnix{}.Path) - 1 - len("/k-0123456789")

// makeDir makes a directory if it is not there, and keeps others out of it.
func makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return xerrors.Errorf("the directory cannot be made: %w", err)
	}
	// A link that somebody else has put there could lead to any directory of ours.
	for _, look := range []func(string) (fs.FileInfo, error){os.Lstat, os.Stat} {
		info, err := look(dir)
		if err != nil {
			return err
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Geteuid() {
			return xerrors.Errorf("%s belongs to another user: %w", dir, procmgr.ErrInvalid)
		}
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return xerrors.Errorf("%s is no directory: %w", dir, procmgr.ErrInvalid)
	case info.Mode().Perm()&0o077 != 0:
		if err := os.Chmod(dir, 0o700); err != nil {
			return xerrors.Errorf("others can enter the directory, and that cannot be changed: %w", err)
		}
	}
	return nil
}

// lockDir makes the directory, and waits for its lock.
func lockDir(ctx context.Context, dir string) (*os.File, error) {
	for {
		if err := makeDir(dir); err != nil {
			return nil, err
		}
		lock, err := lockDirNow(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // or the directory was removed just now
			return nil, xerrors.Errorf("the directory cannot be locked: %w", err)
		}
		if lock != nil {
			return lock, nil
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// lockDirNow returns the lock of the directory, or nil if another program has it.
func lockDirNow(dir string) (*os.File, error) {
	path := filepath.Join(dir, nameLock)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if own, err := f.Stat(); err == nil && lockExclusive(f) && isAt(path, own) {
		return f, nil
	}
	f.Close()
	return nil, nil //nolint:nilnil // it is no error
}

// lockShared waits for a shared lock of a file, which lasts until that is closed.
func lockShared(f *os.File) error {
	err := error(syscall.EINTR)
	for err == syscall.EINTR {
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

// isNoDirectory reports whether an error says that a file is where a directory should be.
func isNoDirectory(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
