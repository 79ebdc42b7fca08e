package osproc

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

// FindShell looks the shell up on PATH.
func FindShell(name string) (file string, err error) {
	if err := checkPlatform(); err != nil {
		return "", err // where no commands run, no shell helps
	}
	if file, err = LookShell(name); err != nil {
		advice := unixAdvice
		if runtime.GOOS == "windows" {
			advice = windowsAdvice
		}
		return "", xerrors.Errorf("the shell %q is not there (%v); %s: %w", name, err, advice, sentinel.ErrInvalid)
	}
	if file, err = filepath.Abs(file); err != nil { // the shell runs in another directory
		return "", xerrors.Errorf("the shell %q cannot be named (%v): %w", name, err, sentinel.ErrInvalid)
	}
	return file, nil
}

const (
	// defaultPath is where programs are if this program has no PATH. Package baseenv gives
	// commands the same one.
	defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	// These say what to do if there is no shell.
	unixAdvice    = "install it or set Options.Shell"
	windowsAdvice = "install Git for Windows or MSYS2 and put the directory of its sh.exe on PATH, or set Options.Shell"
)

// LookShell finds a program on PATH. By default Git for Windows puts git on
// PATH, but not the sh that comes with it.
func LookShell(name string) (string, error) {
	file, err := exec.LookPath(name)
	if err == nil {
		return file, nil
	}
	var others []string
	if runtime.GOOS != "windows" && os.Getenv("PATH") == "" && !strings.ContainsRune(name, '/') {
		others = filepath.SplitList(defaultPath)
	} else if git, gerr := exec.LookPath("git.exe"); gerr == nil && (name == "sh" || name == "bash") {
		// Beside GIT\cmd\git.exe there is GIT\bin\sh.exe, which also puts the
		// tools that come with it on PATH.
		others, name = []string{filepath.Join(filepath.Dir(filepath.Dir(git)), "bin")}, name+".exe"
	}
	for _, dir := range others {
		if file, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return file, nil
		}
	}
	return "", err
}

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
