// Package sentinel has the errors that the packages below procmgr share with
// it, as io/fs shares some with internal/oserror. Users know them by procmgr's
// names.
package sentinel

import "errors"

var (
	// ErrInvalid is procmgr.ErrInvalid.
	ErrInvalid = errors.New("invalid request")
	// ErrLimit is procmgr.ErrLimit.
	ErrLimit = errors.New("limit reached")
)
