// Package sentinel has the errors that procmgr shares with the packages below
// it, as io/fs shares errors with internal/oserror. Users know them by
// procmgr's names.
package sentinel

import "errors"

var (
	// ErrInvalid is procmgr.ErrInvalid.
	ErrInvalid = errors.New("invalid request")
	// ErrNotRunning is procmgr.ErrNotRunning.
	ErrNotRunning = errors.New("process is not running")
	// ErrLimit is procmgr.ErrLimit.
	ErrLimit = errors.New("limit reached")
)
