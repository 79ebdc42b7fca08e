package osproc

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

// CheckDirectory returns an error that says why a command cannot run in a
// directory, or nil.
func CheckDirectory(dir string) error {
	info, err := os.Stat(dir)
	name := NameDirectory(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return xerrors.Errorf("no such directory: %s: %w", name, sentinel.ErrInvalid)
	case errors.Is(err, fs.ErrPermission):
		return xerrors.Errorf("no permission for the directory: %s: %w", name, sentinel.ErrInvalid)
	case err != nil:
		if e := new(fs.PathError); errors.As(err, &e) {
			err = e.Err // it has the path as well
		}
		return xerrors.Errorf("the directory %s cannot be used (%v): %w", name, err, sentinel.ErrInvalid)
	case !info.IsDir():
		return xerrors.Errorf("not a directory: %s: %w", name, sentinel.ErrInvalid)
	case !enterable(dir):
		return xerrors.Errorf("no permission for the directory: %s: %w", name, sentinel.ErrInvalid)
	}
	return nil
}

// NameDirectory returns a directory for an error: as it is, or quoted if it could
// look like words of the error.
func NameDirectory(dir string) string {
	odd := func(r rune) bool { return r == ' ' || !strconv.IsPrint(r) || strings.ContainsRune("\"'`();", r) }
	if strings.ContainsFunc(dir, odd) || strings.ContainsRune(dir, '\uFFFD') {
		return strconv.Quote(dir)
	}
	return dir
}
