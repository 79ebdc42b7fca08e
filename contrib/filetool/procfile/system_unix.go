//go:build unix

package procfile

import (
	"errors"
	"os"
	"syscall"
)

// noWait keeps an open of a named pipe from waiting for somebody at the other end.
const noWait = syscall.O_NONBLOCK

func isNotDir(err error) bool   { return errors.Is(err, syscall.ENOTDIR) }
func isReadOnly(err error) bool { return errors.Is(err, syscall.EROFS) }
func isBusy(err error) bool     { return errors.Is(err, syscall.ETXTBSY) }

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// keepOwner gives a new file the owner and group of the file that it replaces.
func keepOwner(f *os.File, info os.FileInfo) error {
	old, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	now, err := f.Stat()
	if err != nil {
		return err
	}
	if own, ok := now.Sys().(*syscall.Stat_t); ok && own.Uid == old.Uid && own.Gid == old.Gid {
		return nil
	}
	return f.Chown(int(old.Uid), int(old.Gid))
}

// links returns how many names a file has.
func links(info os.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink)
	}
	return 1
}

func rename(root *os.Root, from, to string) error { return root.Rename(from, to) }
