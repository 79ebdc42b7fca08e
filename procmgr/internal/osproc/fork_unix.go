//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package osproc

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

// fork starts a shell in a new session, in a cgroup of its own where there are
// cgroups.
func fork(c *Command, file, cookie string, null *os.File, groups *cgroups, noPidfd bool) (*session, *pipe, error) {
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
	pid, pidfd, err := startIn(group, noPidfd, file, c.Argv, &syscall.ProcAttr{
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
	return newSession(pid, pidfd, cookie, p.file, group, noPidfd), p, nil
}

// forkError says what a failed start means. Nothing runs after it.
func forkError(err error, shell string) error {
	switch {
	case errors.Is(err, unix.E2BIG):
		return xerrors.Errorf("the command and its environment are longer than the system takes (%v): %w", err, sentinel.ErrInvalid)
	case errors.Is(err, unix.EAGAIN):
		return xerrors.Errorf("the system allows this user no more processes (%v); end some of them: %w", err, sentinel.ErrLimit)
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return xerrors.Errorf("no file descriptor is left (%v); end some processes: %w", err, sentinel.ErrLimit)
	case errors.Is(err, unix.ENOMEM):
		return xerrors.Errorf("no memory is left for another process (%v): %w", err, sentinel.ErrLimit)
	}
	return xerrors.Errorf("%s: %v; set Options.Shell: %w", shell, err, errShell)
}
