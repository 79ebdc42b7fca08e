package procmgr

import (
	"crypto/rand"
	"strings"

	"golang.org/x/xerrors"
)

// maxID is the longest process ID in bytes.
const maxID = 64

// NewID returns a new process ID: 10 characters of lower-case base32, which are
// 50 random bits. It is short because models copy it. It is no secret: other
// chats cannot reach a process because it belongs to its chat, not because its
// ID is hard to guess.
func NewID() string { return strings.ToLower(rand.Text()[:10]) }

// checkID returns an error that says why an ID of a caller cannot be used, or
// nil.
func checkID(id string) error { return checkName("process ID", id) }

// checkName is checkID for another name that a caller has chosen.
func checkName(what, id string) error {
	if id == "" {
		return xerrors.Errorf("the %s is empty: %w", what, ErrInvalid)
	}
	if len(id) > maxID {
		return xerrors.Errorf("the %s has %d bytes, at most %d are allowed: %w", what, len(id), maxID, ErrInvalid)
	}
	for i := range len(id) {
		c := id[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-') {
			return xerrors.Errorf("the %s %.80q has a character other than A-Z a-z 0-9 _ -: %w", what, id, ErrInvalid)
		}
	}
	return nil
}
