package osproc

import (
	"os"

	"golang.org/x/sys/unix"
)

// hasPidfds reports whether the system has pidfds that can be waited for: Linux
// 5.4. Sandboxes may have none whatever version they claim to be.
func hasPidfds() bool {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return unix.Waitid(unix.P_PIDFD, fd, nil, unix.WEXITED|unix.WNOHANG, nil) == unix.ECHILD
}

// pollable puts a descriptor under the care of Go's network poller.
func pollable(fd int, name string) *os.File {
	_ = unix.SetNonblock(fd, true) // os.NewFile takes this as its sign
	return os.NewFile(uintptr(fd), name)
}

// readable asks without waiting. A pidfd is readable once its process, all
// threads of it, has exited.
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

// control calls f with a file's descriptor, where the file is there and open.
func control(file *os.File, f func(fd int)) {
	conn, err := file.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) { f(int(fd)) }) // an error: it is closed
}
