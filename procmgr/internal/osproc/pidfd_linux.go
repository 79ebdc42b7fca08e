package osproc

import (
	"os"

	"golang.org/x/sys/unix"
)

// hasPidfds reports whether the system has pidfds that can be waited for, as
// Linux has since 5.4. A sandbox may have none, whatever version it claims to
// be.
func hasPidfds() bool {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return unix.Waitid(unix.P_PIDFD, fd, nil, unix.WEXITED|unix.WNOHANG, nil) == unix.ECHILD
}

// pollable gives a descriptor to Go's network poller.
func pollable(fd int, name string) *os.File {
	_ = unix.SetNonblock(fd, true) // os.NewFile gives only a non-blocking descriptor to the poller
	return os.NewFile(uintptr(fd), name)
}

// readable reports whether a descriptor is readable now. A pidfd is readable
// when all threads of its process have exited.
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

// control calls f with a file's descriptor, if the file is not nil and is open.
func control(file *os.File, f func(fd int)) {
	conn, err := file.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) { f(int(fd)) }) // on an error the file is closed
}
