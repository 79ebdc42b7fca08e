//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package procfile

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks a directory against other programs that write in it by this package.
// It reports false if one of them has the lock. A file system without locks locks
// nothing. The lock ends with the file.
func tryLock(dir *os.File) bool {
	conn, err := dir.SyscallConn()
	if err != nil {
		return true
	}
	locked := true
	_ = conn.Control(func(fd uintptr) { // an error is a file that was closed
		err := syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB)
		locked = !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR)
	})
	return locked
}
