package procmgr

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/xerrors"
)

// directory is where a request runs: the directory that it names, else that of
// Options.WorkDir where it exists, else the user's home.
func (l *Local) directory(r *record, name string) (string, error) {
	name = drivePath(runtime.GOOS, name)
	if filepath.IsAbs(name) {
		return name, checkDirectory(name)
	}
	byDefault, err := l.defaultDirectory(r)
	if err != nil || name == "" {
		return byDefault, err
	}
	if os.IsPathSeparator(name[0]) { // it names no drive
		byDefault = filepath.VolumeName(byDefault)
	}
	dir := filepath.Join(byDefault, name)
	return dir, checkDirectory(dir)
}

// drivePath takes a path as the shells of MSYS2 and Git for Windows print it,
// /c/Users, for C:\Users. goos is a value of [runtime.GOOS]; elsewhere a path
// stays as it is.
func drivePath(goos, name string) string {
	if goos != "windows" || len(name) < 2 || name[0] != '/' || len(name) > 2 && name[2] != '/' {
		return name
	}
	drive := name[1] &^ ('a' - 'A')
	if drive < 'A' || drive > 'Z' {
		return name
	}
	return string(drive) + `:\` + strings.ReplaceAll(name[min(3, len(name)):], "/", `\`)
}

func (l *Local) defaultDirectory(r *record) (string, error) {
	if l.opts.WorkDir != nil {
		dir := ""
		l.hook("WorkDir", r, func() { dir = l.opts.WorkDir() })
		if dir != "" {
			if abs, err := filepath.Abs(dir); err == nil && checkDirectory(abs) == nil {
				return abs, nil
			}
		}
	}
	if home, err := os.UserHomeDir(); err == nil && filepath.IsAbs(home) && checkDirectory(home) == nil {
		return home, nil
	}
	return "", xerrors.Errorf("neither the default working directory nor the user's home exists; name a directory: %w", ErrInvalid)
}

func checkDirectory(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return xerrors.Errorf("no such directory: %s: %w", dir, ErrInvalid)
	case errors.Is(err, fs.ErrPermission):
		return xerrors.Errorf("no permission for the directory: %s: %w", dir, ErrInvalid)
	case err != nil:
		return xerrors.Errorf("the directory %s cannot be used (%v): %w", dir, err, ErrInvalid)
	case !info.IsDir():
		return xerrors.Errorf("not a directory: %s: %w", dir, ErrInvalid)
	case !enterable(dir):
		return xerrors.Errorf("no permission for the directory: %s: %w", dir, ErrInvalid)
	}
	return nil
}
