package proclocal

import (
	"cmp"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/baseenv"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// directory returns the directory in which a request runs: the one that the
// request names, else the default one. home is the directory for ~. If the
// request names a directory, no other one takes its place: the command may be
// meant for that one alone.
func (l *Local) directory(r *record, name, home string, base *baseenv.Base) (string, error) {
	name = drivePath(runtime.GOOS, name)
	name, err := expandHome(name, home)
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(name) {
		byDefault, err := l.defaultDirectory(r, home, base)
		if err != nil || name == "" {
			return byDefault, err
		}
		if os.IsPathSeparator(name[0]) { // it names no drive
			byDefault = filepath.VolumeName(byDefault)
		}
		name = filepath.Join(byDefault, name)
	}
	if err := osproc.CheckDirectory(name); err != nil {
		problem := procmgr.Reason(err)
		if r.passedOver != "" {
			problem += " (the default was passed over: " + r.passedOver + ")"
		}
		return "", xerrors.Errorf("%s; name one that exists and can be entered: %w", problem, procmgr.ErrInvalid)
	}
	return name, nil
}

// defaultDirectory returns the first of these that can be used: the directory
// of Options.WorkDir, the current directory of the program that starts the
// command, the home. It logs
// each directory that it passes over, and notes it in the record for the
// answer.
func (l *Local) defaultDirectory(r *record, home string, base *baseenv.Base) (string, error) {
	var passed []string
	for _, next := range []func() (string, error){
		func() (string, error) { return l.configuredDirectory(r, home) },
		func() (string, error) { return currentDirectory(base) },
		func() (string, error) { return home, nil },
	} {
		dir, err := next()
		if err == nil && dir != "" {
			err = osproc.CheckDirectory(dir)
		}
		switch {
		case err != nil:
			passed = append(passed, procmgr.Reason(err))
			r.log(slog.LevelWarn, "working directory passed over", slog.String("error", procmgr.Reason(err)))
		case dir != "":
			r.passedOver = strings.Join(passed, "; ")
			return dir, nil
		}
	}
	return "", xerrors.Errorf("there is no default directory (%s); name a directory: %w",
		cmp.Or(strings.Join(passed, "; "), "no home is known"), procmgr.ErrInvalid)
}

// configuredDirectory returns the directory of Options.WorkDir, or "" if it
// names none.
func (l *Local) configuredDirectory(r *record, home string) (string, error) {
	if l.opts.WorkDir == nil {
		return "", nil
	}
	dir, err := "", xerrors.New("the function that names the directory failed")
	r.hook("WorkDir", func() { dir, err = l.opts.WorkDir(), nil })
	if err != nil || dir == "" {
		return "", err
	}
	if dir, err = expandHome(dir, home); err != nil {
		return "", err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", xerrors.Errorf("the directory %s is relative, and this program's own has gone", osproc.NameDirectory(dir))
	}
	return abs, nil
}

// currentDirectory returns the current directory of the program that starts the
// command.
func currentDirectory(base *baseenv.Base) (dir string, err error) {
	if base == nil {
		dir, err = os.Getwd()
	} else {
		dir = base.Dir
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), base != nil && dir == "":
		return "", xerrors.New("the program's own directory has gone")
	case err != nil:
		return "", xerrors.Errorf("the program's own directory cannot be told: %w", err)
	}
	return dir, nil
}

// homeOf returns the directory for ~. It is the command's HOME, which is also
// the ~ of its shell, else the home of this program's user. It is "" if there
// is none.
func homeOf(env []string) string {
	for _, kv := range slices.Backward(env) {
		if home, ok := strings.CutPrefix(kv, "HOME="); ok {
			if home = drivePath(runtime.GOOS, home); filepath.IsAbs(home) {
				return home
			}
			break
		}
	}
	if home, err := os.UserHomeDir(); err == nil && filepath.IsAbs(home) {
		return home
	}
	return ""
}

// expandHome replaces a ~ that stands alone or before a slash by the home.
func expandHome(name, home string) (string, error) {
	if name == "" || name[0] != '~' || len(name) > 1 && !os.IsPathSeparator(name[1]) {
		return name, nil
	}
	if home == "" {
		return "", xerrors.Errorf("no home is known for %s; name the directory in full: %w", osproc.NameDirectory(name), procmgr.ErrInvalid)
	}
	return filepath.Join(home, name[1:]), nil
}

// drivePath turns a path as the shells of MSYS2 and Git for Windows print it,
// such as /c/Users, into C:\Users. goos is a value of [runtime.GOOS]. On other
// systems a path stays as it is.
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
