package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// maxPaths is how many paths a field of procmgr.SandboxRules has at most. Linux opens no path
// that is longer than one of them may be.
const maxPaths = 64

// resolve returns a policy with absolute paths without symlinks, except that the last
// element of a Hide path may be one. Of Write, directories below another one are left out.
func resolve(p Policy) (Policy, error) {
	for _, list := range []struct {
		name  string
		paths *[]string
	}{{"Write", &p.Write}, {"Read", &p.Read}, {"Protect", &p.Protect}, {"Hide", &p.Hide}} {
		if len(*list.paths) > maxPaths {
			return p, xerrors.Errorf("%s has %d paths, at most %d are allowed: %w", list.name, len(*list.paths), maxPaths, procmgr.ErrInvalid)
		}
		resolved := make([]string, 0, len(*list.paths))
		for _, path := range *list.paths {
			clean, err := resolvePath(path, list.name == "Write")
			if err == nil && list.name == "Protect" {
				if link := linkBelow(path, p.Write); link != "" {
					err = xerrors.Errorf("%.300q is a symbolic link below Write, which a command could replace: protect the directory that it leads to by its own path, and the one that has the link", link)
				}
			}
			if err == nil && list.name == "Hide" {
				clean, err = resolveParent(path)
			}
			if err != nil {
				return p, xerrors.Errorf("%s has %.300q, which cannot be used (%v): %w", list.name, path, err, procmgr.ErrInvalid)
			}
			resolved = append(resolved, clean)
		}
		*list.paths = resolved
	}
	if p.Network != AllNetwork && p.Network != NoNetwork {
		return p, xerrors.Errorf("there is no Network %d: %w", p.Network, procmgr.ErrInvalid)
	}
	p.Write = outermost(p.Write)
	return p, nil
}

func resolvePath(path string, directory bool) (string, error) {
	if path == "" {
		return "", xerrors.New("it is empty")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return "", err
	}
	fd, _, err := openExactly(abs, directory)
	if err != nil {
		return "", err
	}
	_ = unix.Close(fd) // nothing was written
	return abs, nil
}

// resolveParent is resolvePath, but for a symbolic link that the path itself is.
func resolveParent(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil || abs == "/" {
		return abs, err
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
	return filepath.Join(dir, filepath.Base(abs)), err
}

// linkBelow returns the first symbolic link on the way to a path, which exists, that is
// itself below some directories. It is "" if there is none.
func linkBelow(path string, dirs []string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	real := "/"
	for rest := strings.Split(abs, "/"); len(rest) > 0; {
		next := filepath.Join(real, rest[0])
		rest = rest[1:]
		target, err := os.Readlink(next)
		if err != nil {
			real = next
			continue
		}
		if within(next, dirs) {
			return next
		}
		if filepath.IsAbs(target) {
			real = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return ""
}

// outermost returns the directories that are not below another one, sorted.
func outermost(dirs []string) []string {
	sorted := slices.Compact(slices.Sorted(slices.Values(dirs)))
	return slices.DeleteFunc(slices.Clone(sorted), func(dir string) bool {
		return slices.ContainsFunc(sorted, func(other string) bool { return other != dir && below(dir, other) })
	})
}

// below reports whether a path is a directory or below it.
func below(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// An inode is a file, whatever its name is.
type inode struct{ dev, ino uint64 }

// openExactly opens path with O_PATH. It fails if path contains a symlink.
func openExactly(path string, directory bool) (fd int, at inode, err error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	if directory {
		how.Flags |= unix.O_DIRECTORY
	}
	for {
		fd, err = unix.Openat2(unix.AT_FDCWD, path, &how)
		if err != unix.EINTR && err != unix.EAGAIN {
			break
		}
	}
	if err != nil {
		return -1, inode{}, &os.PathError{Op: "open", Path: path, Err: err}
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		_ = unix.Close(fd) // nothing was written
		return -1, inode{}, fmt.Errorf("stat: %w", err)
	}
	return fd, inode{uint64(stat.Dev), stat.Ino}, nil //nolint:unconvert // Dev has other types elsewhere
}

// tempDir makes the temporary directory of a box, inside a directory that all boxes of this
// user share and that stays. If commands could write to the shared directory, another box
// would mount what they put there.
func tempDir() (string, error) {
	name := filepath.Join(os.TempDir(), "toolproc-boxes-"+strconv.Itoa(os.Geteuid()))
	all, err := ownDir(name)
	for n := 2; errors.Is(err, errNotOwn) && n < 10; n++ { // such as root's outside of a container
		all, err = ownDir(name + "-" + strconv.Itoa(n))
	}
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(all, "")
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

var errNotOwn = errors.New("it is no directory of this user alone: remove it, or set TMPDIR to another directory")

// ownDir makes a directory, or takes one that is there already.
func ownDir(path string) (string, error) {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	var stat unix.Stat_t
	if err := unix.Lstat(path, &stat); err != nil {
		return "", &os.PathError{Op: "lstat", Path: path, Err: err}
	}
	if stat.Mode&(unix.S_IFMT|0o077) != unix.S_IFDIR || int(stat.Uid) != os.Geteuid() {
		return "", xerrors.Errorf("%.300q: %w", path, errNotOwn)
	}
	return path, nil
}
