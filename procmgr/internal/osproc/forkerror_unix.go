//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package osproc

import (
	"errors"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

// forkError explains the error of a failed start. After it nothing runs.
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
