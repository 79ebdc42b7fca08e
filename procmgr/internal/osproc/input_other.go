//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package osproc

import (
	"context"
	"errors"
	"runtime"
	"time"

	"golang.org/x/xerrors"
)

// MaxLine is how many bytes of a line a terminal takes.
const MaxLine = 1023

// An Input does not exist on this system, and none of its methods is called.
type Input struct{}

func (in *Input) Write(context.Context, []byte, time.Time) (int, error) {
	return 0, ErrStdinClosed
}
func (in *Input) Mode() (TerminalMode, error) { return TerminalMode{}, ErrStdinClosed }
func (in *Input) Close()                      {}
func (in *Input) close()                      {}

// checkStdin refuses a stdin that this system cannot give.
func checkStdin(s Stdin) error {
	if s == StdinEmpty {
		return nil
	}
	return xerrors.Errorf("a command cannot be given a stdin on %s yet: %w", runtime.GOOS, errors.ErrUnsupported)
}
