package osproc

import (
	"os"

	"golang.org/x/sys/unix"
)

// hasPidfds reports whether waitid can wait for a pidfd. Linux has this since
// 5.4. A sandbox may lack it, even if it reports a newer version. So hasPidfds
// tries: a kernel that knows P_PIDFD says that this process is not its own child.
func hasPidfds() bool {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return unix.Waitid(unix.P_PIDFD, fd, nil, unix.WEXITED|unix.WNOHANG, nil) == unix.ECHILD
}

// pollable returns a file that owns the descriptor. Go's network poller can wait
// for it.
func pollable(fd int, name string) *os.File {
	_ = unix.SetNonblock(fd, true) // os.NewFile gives only a non-blocking descriptor to the poller
	return os.NewFile(uintptr(fd), name)
}

// readable reports whether a descriptor is readable now. It does not wait. A
// pidfd is readable when all threads of its process have exited.
func readable(fd int) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, 0)
		if err == unix.EINTR {
			continue
		}
		return err == nil && n > 0
	}
}
