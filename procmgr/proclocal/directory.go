package proclocal

import (
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
func (l *Local) directory(r *record, name, configured, home string) (string, error) {
	name, err := baseenv.ExpandHome(drivePath(runtime.GOOS, name), home)
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(name) {
		byDefault, err := l.defaultDirectory(r, configured, home)
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

// defaultDirectory returns the configured directory if there is one. Otherwise it
// returns the current directory of the program that starts the command, or the home if
// that has gone: it logs this, and notes it in the record for the answer. A configured
// directory that cannot be used is an error, because the command may be meant for
// that one alone.
func (l *Local) defaultDirectory(r *record, configured, home string) (string, error) {
	if configured != "" {
		if err := osproc.CheckDirectory(configured); err != nil {
			return "", xerrors.Errorf("the configured directory cannot be used (%s); name another one, or have the host's WorkDir corrected: %w",
				procmgr.Reason(err), procmgr.ErrInvalid)
		}
		return configured, nil
	}
	dir, err := currentDirectory(r.origin)
	if err == nil {
		if err = osproc.CheckDirectory(dir); err == nil {
			return dir, nil
		}
	}
	passed := procmgr.Reason(err)
	r.log(slog.LevelWarn, "working directory passed over", slog.String("error", passed))
	if home != "" {
		if err = osproc.CheckDirectory(home); err == nil {
			r.passedOver = passed
			return home, nil
		}
		passed += "; " + procmgr.Reason(err)
	}
	return "", xerrors.Errorf("there is no default directory (%s); name a directory: %w", passed, procmgr.ErrInvalid)
}

// currentDirectory returns the current directory of the program that starts the
// command.
func currentDirectory(from *baseenv.Origin) (dir string, err error) {
	if from == nil {
		dir, err = os.Getwd()
	} else {
		dir = from.Dir
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), from != nil && dir == "":
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
