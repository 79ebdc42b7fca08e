package osproc

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

// newLeader returns a leader that is to be started, with its mark. In the cgroup g,
// if that is not nil, it needs none.
func newLeader(g *cgroup, lacks *lacks, c *Command) leader {
	l := leader{pidfd: -1, wrapped: c.Wrapped, away: c.OnThread != nil}
	if g == nil && !lacks.mark {
		l.mark = marks.take()
	}
	return l
}

// unmark gives the mark back.
func (l *leader) unmark() {
	if l.mark != 0 {
		marks.free(l.mark)
		l.mark = 0
	}
}

// marks calls one of the functions that mark a process for the leader. A thread that is
// restricted may not set the limits of another process.
func (l *leader) marks(set func(pid int) bool) (done bool) {
	elsewhere(l.away, func() { done = set(l.pid) })
	return done
}

func (l *leader) lineage(cookie string, g *cgroup) Lineage {
	b := Lineage{PID: l.pid, Cookie: cookie, Mark: uint64(l.mark), Whole: l.whole, Wrapped: l.wrapped}
	if g != nil {
		b.Cgroup = g.path
	}
	return b
}

// startIn starts a program as attr has it, and in the cgroup g if that is not
// nil.
func (l leader) startIn(g *cgroup, lacks *lacks, file string, argv []string, attr *syscall.ProcAttr) (leader, error) {
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
	}
	end := forks.begin()
	err := l.start(lacks, file, argv, attr)
	end()
	if l.mark != 0 && (err != nil || !l.whole && !l.marks(l.mark.setAll)) {
		l.unmark()
	}
	if err != nil && g != nil && unix.Access(file, unix.X_OK) == nil && !errors.Is(forkError(err, file), sentinel.ErrLimit) && !errors.Is(err, unix.E2BIG) {
		// The program is not the reason.
		err = cgroupError(g.path, err)
	}
	return l, err
}

// start starts the program, marked and with no signal blocked if that is possible.
func (l *leader) start(lacks *lacks, file string, argv []string, attr *syscall.ProcAttr) (err error) {
	if (l.mark != 0 || blocksSignals()) && !lacks.trace.Load() {
		if err = l.startTraced(file, argv, attr); !errors.Is(err, errUntraced) {
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
