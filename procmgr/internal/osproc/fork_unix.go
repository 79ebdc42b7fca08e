//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package osproc

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

// fork starts a leader in a new session, and in a cgroup of its own if there
// are cgroups.
func fork(c *Command, file, cookie string, null *os.File, groups *cgroups, lacks *lacks) (*session, *pipe, error) {
	read, write, err := newPipePair()
	if err != nil {
		return nil, nil, forkError(err, file)
	}
	group, err := groups.add()
	if err != nil {
		unix.Close(read)
		unix.Close(write)
		return nil, nil, err
	}
	leader, err := startIn(group, lacks, file, c.Argv, &syscall.ProcAttr{
		Dir:   c.Dir,
		Env:   c.Env,
		Files: []uintptr{null.Fd(), uintptr(write), uintptr(write)},
	})
	unix.Close(write)
	if err != nil {
		unix.Close(read)
		group.remove()
		if gone := CheckDirectory(c.Dir); gone != nil {
			return nil, nil, gone
		}
		if errors.Is(err, sentinel.ErrInvalid) {
			return nil, nil, err
		}
		return nil, nil, forkError(err, file)
	}
	p := newPipe(uintptr(read), reader{}, c.Output)
	return newSession(leader, cookie, p.file, group, lacks.pidfd), p, nil
}
