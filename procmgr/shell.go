package procmgr

import (
	"context"
	"errors"

	"golang.org/x/xerrors"
)

// A ShellManager is a [Manager] that can tell which shell runs its commands. A
// Manager need not have this method. The function [Shell] takes any Manager.
type ShellManager interface {
	Manager
	// Shell returns the base name of the program that interprets the commands
	// of Start, such as "bash", "sh" or "cmd", without ".exe". It is the same
	// at every call, and costs little when it is asked again. A manager that
	// cannot tell returns [errors.ErrUnsupported].
	Shell(ctx context.Context) (string, error)
}

// Shell returns the base name of the program that interprets the commands of m,
// such as "bash" or "sh". If m cannot tell, the error is
// [errors.ErrUnsupported].
//
// If a Manager wraps another one and leaves its commands as they are, it should
// have the method
//
//	Unwrap() Manager
//
// Shell calls it to find the [ShellManager] inside.
func Shell(ctx context.Context, m Manager) (string, error) {
	for m != nil {
		switch wrapper := m.(type) {
		case ShellManager:
			name, err := wrapper.Shell(ctx)
			if err == nil && name == "" {
				return "", errNoShell
			}
			return name, err
		case interface{ Unwrap() Manager }:
			m = wrapper.Unwrap()
		default:
			return "", errNoShell
		}
	}
	return "", errNoShell
}

var errNoShell = xerrors.Errorf("procmgr: which shell runs the commands cannot be told: %w", errors.ErrUnsupported)
