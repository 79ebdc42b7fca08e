//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"errors"
	"syscall"
)

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
