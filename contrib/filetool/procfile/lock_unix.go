//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package procfile

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks a directory against other programs that write in it by this package.
// locked is false if one of them has the lock. A file system without locks locks
// nothing, and alone is false then. The lock ends with the file.
func tryLock(dir *os.File) (locked, alone bool) {
	conn, err := dir.SyscallConn()
	if err != nil {
		return true, false
	}
	cerr := conn.Control(func(fd uintptr) { err = syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB) })
	locked = !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR)
	return locked, err == nil && cerr == nil
}
