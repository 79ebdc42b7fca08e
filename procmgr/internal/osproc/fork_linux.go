package osproc

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

// startIn starts a program as attr has it, and in the cgroup g if that is not
// nil. Without a cgroup, it marks the program.
func startIn(g *cgroup, lacks *lacks, file string, argv []string, attr *syscall.ProcAttr) (leader, error) {
	l := leader{pidfd: -1}
	if !lacks.pidfd {
		attr.Sys.PidFD = &l.pidfd
	}
	if g != nil {
		fd, err := g.open()
		if err != nil {
			return leader{}, cgroupError(g.path, err)
		}
		defer unix.Close(fd)
		attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, fd
	} else if !lacks.mark {
		l.mark = marks.take()
	}
	started := forks.begin()
	err := l.start(lacks, file, argv, attr)
	started()
	if l.mark != 0 && (err != nil || !l.whole && !l.mark.setAll(l.pid)) {
		marks.free(l.mark)
		l.mark = 0
	}
	if err != nil && g != nil && unix.Access(file, unix.X_OK) == nil && !errors.Is(forkError(err, file), sentinel.ErrLimit) && !errors.Is(err, unix.E2BIG) {
		// The program is not the reason.
		err = cgroupError(g.path, err)
	}
	return l, err
}

// start starts the program, marked if that is possible.
func (l *leader) start(lacks *lacks, file string, argv []string, attr *syscall.ProcAttr) (err error) {
	if l.mark != 0 && !lacks.trace.Load() {
		if l.pid, l.whole, err = startMarked(l.mark, file, argv, attr); !errors.Is(err, errUntraced) {
			return err
		}
		if l.pidfd >= 0 { // of the one that has ended before it began
			unix.Close(l.pidfd)
			l.pidfd = -1
		}
		if !gainsPrivilege(file) {
			defer func() { lacks.trace.Store(err == nil) }()
		}
	}
	l.pid, _, err = syscall.StartProcess(file, argv, attr)
	return err
}
