//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package osproc

import (
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// minClosed is the number up to which a leader never inherits a descriptor, so
	// that one that C code of the host opens later does not reach commands.
	minClosed = 63
	// probedDescriptors is how many descriptors are tried one by one if the system
	// doesn't list them.
	probedDescriptors = 1 << 16
)

// lastInheritable returns the highest descriptor that a leader must not inherit: of those
// that this program has now, but at least minClosed.
func lastInheritable() int {
	last := minClosed
	note := func(fd int) {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			last = max(last, fd)
		}
	}
	if entries, err := os.ReadDir("/proc/self/fd"); err == nil {
		for _, e := range entries {
			if fd, err := strconv.Atoi(e.Name()); err == nil {
				note(fd)
			}
		}
		return last
	}
	for fd := range min(maxDescriptors(), probedDescriptors) {
		note(fd)
	}
	return last
}

// maxDescriptors returns how many descriptors this program may have.
func maxDescriptors() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return minClosed
	}
	return int(min(uint64(limit.Cur), 1<<30))
}

// closeInherited returns the descriptors of a leader, with an end of -1 for every
// other one up to last: the child closes these. It marks none of this program's own,
// because a program that restarts itself hands them on.
func closeInherited(files []uintptr, last int) []uintptr {
	// The child of package syscall needs numbers beyond all of these: for the pipe that
	// tells an error of its exec, and for each end that has to make room.
	last = min(last, maxDescriptors()-len(files)-3)
	for len(files) <= last {
		files = append(files, ^uintptr(0))
	}
	return files
}
