//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package policy

import "golang.org/x/sys/unix"

// flush drops what a terminal has not handed out.
func flush(fd uintptr) {
	const read = 1 // FREAD of sys/fcntl.h
	_ = unix.IoctlSetPointerInt(int(fd), unix.TIOCFLUSH, read)
}
