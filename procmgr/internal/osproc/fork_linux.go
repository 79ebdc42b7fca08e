package osproc

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

// startIn starts a program in a new session, and in the cgroup g if that is not
// nil. It returns a pidfd, or -1 if noPidfd is set or the system has none.
func startIn(g *cgroup, noPidfd bool, file string, argv []string, attr *syscall.ProcAttr) (pid, pidfd int, err error) {
	pidfd = -1
	attr.Sys = &syscall.SysProcAttr{Setsid: true}
	if !noPidfd {
		attr.Sys.PidFD = &pidfd
	}
	if g != nil {
		fd, err := g.open()
		if err != nil {
			return -1, -1, cgroupError(g.path, err)
		}
		defer unix.Close(fd)
		attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, fd
	}
	started := forks.begin()
	pid, _, err = syscall.StartProcess(file, argv, attr)
	started()
	if err != nil && g != nil && unix.Access(file, unix.X_OK) == nil && !errors.Is(forkError(err, file), sentinel.ErrLimit) && !errors.Is(err, unix.E2BIG) {
		// The program is not the reason.
		err = cgroupError(g.path, err)
	}
	return pid, pidfd, err
}
