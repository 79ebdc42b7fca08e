package procfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// maxLinks is how many symbolic links a path may lead through.
const maxLinks = 40

// A place is where a path leads to.
type place struct {
	path string      // absolute, without a symbolic link
	info fs.FileInfo // nil: nothing is there
	// parents is how many of the last elements of path, the name itself not counted,
	// are directories that do not exist.
	parents int
}

func (p place) dir() string  { return filepath.Dir(p.path) }
func (p place) name() string { return filepath.Base(p.path) }

// find follows a path and every symbolic link on the way.
//
// What it finds may be another file a moment later. Whatever is opened afterwards is
// opened by an os.Root, which follows no link out of itself.
func (l *Local) find(path string) (place, error) {
	abs, err := l.absolute(path)
	if err != nil {
		return place{}, err
	}
	at, rest, err := l.start(abs)
	if err != nil {
		return place{}, err
	}
	p := place{path: at}
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch {
		case name == "" || name == ".":
			continue
		case name == "..":
			if l.root != nil && p.path == l.root.real {
				return place{}, l.outside(path)
			}
			p.path, p.parents = filepath.Dir(p.path), max(p.parents-1, 0)
			continue
		case p.parents > 0:
			p.path = filepath.Join(p.path, name)
			p.parents++
			continue
		}
		next := filepath.Join(p.path, name)
		if err := l.rules.passes(next); err != nil {
			return place{}, err
		}
		info, err := l.lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			p.path, p.parents = next, p.parents+1
			continue
		case isNotDir(err):
			return place{}, xerrors.Errorf("%s is a file and no directory: %w", p.path, fs.ErrNotExist)
		case err != nil:
			return place{}, l.explain(next, err)
		case info.Mode()&fs.ModeSymlink == 0:
			p.path = next
			if len(rest) == 0 {
				p.info = info
			}
			continue
		}
		if links++; links > maxLinks {
			return place{}, xerrors.Errorf("%s is a symbolic link that leads through too many others: %w", next, procmgr.ErrInvalid)
		}
		to, err := l.readlink(next)
		if err != nil {
			return place{}, l.explain(next, err)
		}
		if !filepath.IsAbs(to) {
			rest = append(split(to), rest...)
			continue
		}
		at, more, err := l.start(filepath.Clean(to))
		if err != nil {
			return place{}, l.outside(path)
		}
		p.path, rest = at, append(more, rest...)
	}
	if p.info == nil && p.parents == 0 { // a directory, named by "." or ".."
		info, err := l.lstat(p.path)
		if err != nil {
			return place{}, l.explain(p.path, err)
		}
		p.info = info
	}
	p.parents = max(p.parents-1, 0)
	return p, l.rules.hidden(p.path)
}

// absolute returns a request's path as an absolute and clean one.
func (l *Local) absolute(path string) (string, error) {
	switch {
	case path == "":
		return "", xerrors.Errorf("the path is empty: %w", procmgr.ErrInvalid)
	case strings.ContainsRune(path, 0):
		return "", xerrors.Errorf("the path has a NUL byte: %w", procmgr.ErrInvalid)
	case path == "~" || strings.HasPrefix(path, "~/"):
		home, err := os.UserHomeDir()
		if err != nil {
			return "", xerrors.Errorf("nobody knows the home that ~ stands for, use an absolute path: %w", procmgr.ErrInvalid)
		}
		path = filepath.Join(home, path[1:])
	case !filepath.IsAbs(path):
		dir := l.dir
		if dir == "" {
			var err error
			if dir, err = os.Getwd(); err != nil {
				return "", xerrors.Errorf("there is no current directory, use an absolute path: %w", procmgr.ErrInvalid)
			}
		}
		path = filepath.Join(dir, path)
	}
	return filepath.Clean(path), nil
}

// start returns where the way along a path begins, and the rest of it.
func (l *Local) start(abs string) (at string, rest []string, err error) {
	if l.root == nil {
		volume := filepath.VolumeName(abs)
		return volume + string(filepath.Separator), split(abs[len(volume):]), nil
	}
	rel, ok := l.root.rel(abs)
	if !ok {
		return "", nil, l.outside(abs)
	}
	return l.root.real, split(rel), nil
}

func split(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == filepath.Separator || r == '/' })
}

func (l *Local) outside(path string) error {
	return xerrors.Errorf("%s is outside of %s, and nothing there can be read or written: %w", path, l.root.real, procmgr.ErrRefused)
}

// lstat and readlink take paths that find has made.
func (l *Local) lstat(path string) (fs.FileInfo, error) {
	if l.root == nil {
		return os.Lstat(path)
	}
	rel, _ := l.root.rel(path)
	return l.root.root.Lstat(rel)
}

func (l *Local) readlink(path string) (string, error) {
	if l.root == nil {
		return os.Readlink(path)
	}
	rel, _ := l.root.rel(path)
	return l.root.root.Readlink(rel)
}

// open opens a file to read it. It never waits for one that is no regular file.
func (l *Local) open(p place) (f *os.File, err error) {
	if l.root == nil {
		f, err = os.OpenFile(p.path, os.O_RDONLY|noWait, 0)
	} else {
		rel, _ := l.root.rel(p.path)
		f, err = l.root.root.OpenFile(rel, os.O_RDONLY|noWait, 0)
	}
	if err == nil && l.rules.any() {
		if err := l.rules.hidden(where(f, p.path)); err != nil {
			_ = f.Close() // it was not read
			return nil, err
		}
	}
	return f, err
}

// openDir opens the directory in which a file is to be written. If it does not exist, it is
// made, and stays if the write then fails.
func (l *Local) openDir(p place) (dir *os.Root, err error) {
	base, at, err := l.base(p)
	if err != nil {
		return nil, err
	}
	mkdirAll, open := os.MkdirAll, os.OpenRoot
	if base != nil {
		mkdirAll, open = base.MkdirAll, base.OpenRoot
	}
	if p.parents > 0 {
		err = mkdirAll(at, 0o777)
	}
	if err == nil {
		dir, err = open(at)
	}
	if err != nil {
		return nil, l.explain(p.dir(), err)
	}
	return dir, nil
}

// base returns the os.Root below which a place may be written, and the path of its
// directory there. A nil Root is the whole machine.
func (l *Local) base(p place) (base *os.Root, at string, err error) {
	if err := l.rules.protected(p.path); err != nil {
		return nil, "", err
	}
	if l.limits {
		for _, t := range l.write {
			if within(t.real, p.dir()) {
				rel, _ := t.rel(p.dir())
				return t.root, rel, nil
			}
		}
		return nil, "", l.notBelow(p.path)
	}
	if l.root == nil {
		return nil, p.dir(), nil
	}
	if p.path == l.root.real {
		return nil, "", l.outside(p.path)
	}
	rel, _ := l.root.rel(p.dir())
	return l.root.root, rel, nil
}

// notBelow says where files may be written, in the words in which a command's
// sandbox says it.
func (l *Local) notBelow(path string) error {
	var dirs []string
	for _, t := range l.write {
		dirs = append(dirs, t.real)
	}
	if len(dirs) == 0 {
		return xerrors.Errorf("%s cannot be written, no file can: %w", path, procmgr.ErrRefused)
	}
	return xerrors.Errorf("%s cannot be written: files may be written below %s only: %w", path, strings.Join(dirs, ", "), procmgr.ErrRefused)
}

// explain turns an error of the system into one of this package.
func (l *Local) explain(path string, err error) error {
	switch {
	case errors.Is(err, procmgr.ErrRefused):
		return err
	case errors.Is(err, fs.ErrPermission):
		return xerrors.Errorf("this user has no permission for %s: %w", path, fs.ErrPermission)
	case errors.Is(err, fs.ErrNotExist):
		return xerrors.Errorf("there is no %s: %w", path, fs.ErrNotExist)
	case isFull(err):
		return xerrors.Errorf("the disk of %s is full (%v), free some of it: %w", path, cause(err), procmgr.ErrLimit)
	case isReadOnly(err):
		return xerrors.Errorf("the file system of %s is read-only: %w", path, fs.ErrPermission)
	case l.root != nil && isEscape(err):
		return l.outside(path)
	}
	return xerrors.Errorf("%s: %w", path, cause(err))
}

// cause returns what the system says, without the operation and its path.
func cause(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		return link.Err
	}
	return err
}

// isEscape reports whether an os.Root has refused a path that leads out of it.
func isEscape(err error) bool { return strings.Contains(cause(err).Error(), "escapes from parent") }
