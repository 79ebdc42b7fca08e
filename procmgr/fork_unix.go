//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package procmgr

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"
)

// fork starts the shell in a new session and gives the record its session and
// its pipe.
func (l *Local) fork(r *record, shell string, argv []string, dir string, env []string, cookie string) error {
	read, write, err := newPipePair()
	if err != nil {
		return forkError(err, shell)
	}
	group, err := l.place()
	if err != nil {
		unix.Close(read)
		unix.Close(write)
		return err
	}
	pid, pidfd, err := l.startIn(group, shell, argv, &syscall.ProcAttr{
		Dir:   dir,
		Env:   env,
		Files: []uintptr{l.null.Fd(), uintptr(write), uintptr(write)},
	})
	unix.Close(write)
	if err != nil {
		unix.Close(read)
		group.remove()
		if gone := checkDirectory(dir); gone != nil {
			return gone
		}
		if errors.Is(err, ErrInvalid) {
			return err
		}
		return forkError(err, shell)
	}
	r.pipe = newPipe(read, r.out)
	r.session = newSession(pid, pidfd, cookie, r.pipe.file, group, l.opts.noPidfd)
	return nil
}

// forkError says what a failed start means. Nothing runs after it.
func forkError(err error, shell string) error {
	switch {
	case errors.Is(err, unix.E2BIG):
		return xerrors.Errorf("the command and its environment are longer than the system takes (%v): %w", err, ErrInvalid)
	case errors.Is(err, unix.EAGAIN):
		return xerrors.Errorf("the system allows this user no more processes (%v); end some of them: %w", err, ErrLimit)
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return xerrors.Errorf("no file descriptor is left (%v); end some processes: %w", err, ErrLimit)
	case errors.Is(err, unix.ENOMEM):
		return xerrors.Errorf("no memory is left for another process (%v): %w", err, ErrLimit)
	}
	return xerrors.Errorf("%s: %v; set Options.Shell: %w", shell, err, errShell)
}
