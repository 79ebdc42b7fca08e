package procfile

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/toolproc/toolproc/contrib/filetool/internal/edits"
	"github.com/toolproc/toolproc/procmgr"
)

// The errors of [Files]. Match them with [errors.Is]. Besides these,
//
//   - [io/fs.ErrNotExist] is a file or a directory that is missing,
//   - [io/fs.ErrPermission] what this user may not do,
//   - procmgr.ErrRefused what the host does not allow: a path outside of
//     LocalOptions.Root, or what a rule of LocalOptions.Sandbox forbids,
//   - procmgr.ErrInvalid a request that can never work,
//   - procmgr.ErrLimit a file that is too large, or a disk that is full,
//   - procmgr.ErrUnknown a write that may or may not have been done.
//
// After any error but the last, nothing was written.
var (
	// ErrChanged: the file has another Version than the request names.
	ErrChanged = errors.New("file has changed")
	// ErrNotText: it is no text file: a directory, a device, or binary.
	ErrNotText = errors.New("not a text file")
	// ErrNoPlace: the text of Edit.Search is not in the file.
	ErrNoPlace = edits.ErrNoPlace
	// ErrAmbiguous: the text of Edit.Search is in the file several times, or it cannot
	// be told how Edit.Replace is indented.
	ErrAmbiguous = edits.ErrAmbiguous
)

// Reason is procmgr.Reason for an error of [Files] too.
func Reason(err error) string {
	reason := procmgr.Reason(err)
	for _, sentinel := range [...]error{ErrChanged, ErrNotText, ErrNoPlace, ErrAmbiguous, fs.ErrNotExist, fs.ErrPermission} {
		if before, ok := strings.CutSuffix(reason, ": "+sentinel.Error()); ok && errors.Is(err, sentinel) {
			return before
		}
	}
	return reason
}
