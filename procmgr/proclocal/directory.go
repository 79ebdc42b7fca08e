package proclocal

import (
	"cmp"
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
func directory(from *baseenv.Origin, name, configured, home string) (string, error) {
	name, err := baseenv.ExpandHome(drivePath(runtime.GOOS, name), home)
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(name) {
		byDefault, err := defaultDirectory(from, configured)
		if err != nil || name == "" {
			return byDefault, err
		}
		if os.IsPathSeparator(name[0]) { // it names no drive
			byDefault = filepath.VolumeName(byDefault)
		}
		name = filepath.Join(byDefault, name)
	}
	if err := osproc.CheckDirectory(name); err != nil {
		return "", xerrors.Errorf("%s; name one that exists and can be entered: %w", procmgr.Reason(err), procmgr.ErrInvalid)
	}
	return name, nil
}

// defaultDirectory returns the configured directory, or else the current directory of the
// program that starts the command. If that cannot be used, nothing runs in its place,
// because the command may be meant for it alone.
func defaultDirectory(from *baseenv.Origin, configured string) (dir string, err error) {
	if configured != "" {
		if err := osproc.CheckDirectory(configured); err != nil {
			return "", xerrors.Errorf("the configured directory cannot be used (%s); name another one, or have the host's WorkDir corrected: %w",
				procmgr.Reason(err), procmgr.ErrInvalid)
		}
		return configured, nil
	}
	if from != nil {
		dir = from.Dir // "" if it has gone
	} else {
		dir, err = os.Getwd()
	}
	if dir == "" || cmp.Or(err, osproc.CheckDirectory(dir)) != nil {
		return "", xerrors.Errorf("the program's own directory has gone, or cannot be entered; name a directory: %w", procmgr.ErrInvalid)
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
