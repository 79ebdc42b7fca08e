package check

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// MaxChat is the longest ID of a chat in bytes.
const MaxChat = 256

// Chat returns an error that says why an ID of a chat cannot be used, or
// nil.
func Chat(id string) error {
	switch {
	case id == "":
		return xerrors.Errorf("the chat ID is empty: %w", procmgr.ErrInvalid)
	case len(id) > MaxChat:
		return xerrors.Errorf("the chat ID has %d bytes, at most %d are allowed: %w", len(id), MaxChat, procmgr.ErrInvalid)
	case !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl):
		return xerrors.Errorf("the chat ID %.80q has a character that cannot be used: %w", id, procmgr.ErrInvalid)
	}
	return nil
}
