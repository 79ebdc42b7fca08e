package osproc

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

// CheckDirectory returns an error that says why a command cannot run in a
// directory, or nil.
func CheckDirectory(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return xerrors.Errorf("no such directory: %s: %w", dir, sentinel.ErrInvalid)
	case errors.Is(err, fs.ErrPermission):
		return xerrors.Errorf("no permission for the directory: %s: %w", dir, sentinel.ErrInvalid)
	case err != nil:
		return xerrors.Errorf("the directory %s cannot be used (%v): %w", dir, err, sentinel.ErrInvalid)
	case !info.IsDir():
		return xerrors.Errorf("not a directory: %s: %w", dir, sentinel.ErrInvalid)
	case !enterable(dir):
		return xerrors.Errorf("no permission for the directory: %s: %w", dir, sentinel.ErrInvalid)
	}
	return nil
}
