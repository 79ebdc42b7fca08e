package check

import (
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// maxID is the longest process ID in bytes.
const maxID = 64

// ID returns an error that says why an ID of a caller cannot be used, or
// nil.
func ID(id string) error { return Name("process ID", id) }

// Name is checkID for another name that a caller has chosen.
func Name(what, id string) error {
	if id == "" {
		return xerrors.Errorf("the %s is empty: %w", what, procmgr.ErrInvalid)
	}
	if len(id) > maxID {
		return xerrors.Errorf("the %s has %d bytes, at most %d are allowed: %w", what, len(id), maxID, procmgr.ErrInvalid)
	}
	for i := range len(id) {
		c := id[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-') {
			return xerrors.Errorf("the %s %.80q has a character other than A-Z a-z 0-9 _ -: %w", what, id, procmgr.ErrInvalid)
		}
	}
	return nil
}
