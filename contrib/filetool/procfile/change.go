package procfile

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

const (
	// mostNames is how many names of a directory are looked at for what a killed write has left.
	mostNames = 10_000
	// lockTime is how long a write waits for another program that writes in the same
	// directory, and lockPause how often it looks.
	lockTime  = 10 * time.Second
	lockPause = 2 * time.Millisecond
)

// A change is one request that writes. It holds the turn of its Local, and the locks
// of the directories in which it writes.
type change struct {
	l    *Local
	dirs map[string]*folder
	all  []*tempFile
}

// A folder is a directory in which a change writes.
type folder struct {
	root *os.Root
	file *os.File // has the lock
}

// A tempFile is a file that is written and not yet in its place.
type tempFile struct {
	place
	in   *folder
	old  *content // nil if there is none
	temp string   // "" once it is in its place
}

// change waits for the turn, and makes a change: whole or not at all.
func (l *Local) change(ctx context.Context, do func(*change) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	c := &change{l: l, dirs: make(map[string]*folder)}
	defer c.end()
	return do(c)
}

// end removes what an unfinished change has left.
func (c *change) end() {
	for _, s := range c.all {
		if s.temp != "" {
			_ = s.in.root.Remove(s.temp) // it is ours alone
		}
	}
	for _, d := range c.dirs {
		_ = d.file.Close() // it was only read
		_ = d.root.Close() // the same
	}
	<-c.l.turn
}

// lock opens the directories of some places and locks them, always in the same order.
func (c *change) lock(ctx context.Context, places ...place) error {
	places = slices.Clone(places)
	slices.SortFunc(places, func(a, b place) int { return strings.Compare(a.dir(), b.dir()) })
	for _, p := range places {
		if c.dirs[p.dir()] != nil {
			continue
		}
		root, err := c.l.openDir(p)
		if err != nil {
			return err
		}
		file, err := root.Open(".")
		if err != nil {
			_ = root.Close() // the error says more
			return c.l.explain(p.dir(), err)
		}
		in := &folder{root, file}
		c.dirs[p.dir()] = in
		for until := time.Now().Add(lockTime); ; {
			locked, alone := tryLock(file)
			if alone {
				in.sweep()
			}
			if locked {
				break
			}
			if time.Now().After(until) {
				return xerrors.Errorf("another program has locked the directory %s for over %v: %w", p.dir(), lockTime, procmgr.ErrLimit)
			}
			select {
			case <-time.After(lockPause):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	if !c.l.rules.any() {
		return nil
	}
	for _, p := range places {
		dir := where(c.dirs[p.dir()].file, p.dir())
		if err := c.l.rules.protected(filepath.Join(dir, p.name())); err != nil {
			return err
		}
	}
	return nil
}

// tempName begins the names of files that are written and not yet in their places.
const tempName = ".toolproc-"

// sweep removes what another program has left that was killed before a rename. Every
// writer in the directory takes its lock, and this one holds it.
func (d *folder) sweep() {
	names, _ := d.file.Readdirnames(mostNames) // of a larger directory, a part
	for _, name := range names {
		if strings.HasPrefix(name, tempName) && strings.HasSuffix(name, ".tmp") {
			_ = d.root.Remove(name) // it is left for the next one
		}
	}
}

// stage writes the new content of a file beside it, and to the disk. old is what the
// file has, or nil if there is none.
func (c *change) stage(ctx context.Context, p place, old *content, data []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	in := c.dirs[p.dir()]
	var info fs.FileInfo
	if old != nil {
		info = old.info
		if err := writable(in.root, p.name()); err != nil {
			return c.l.explain(p.path, err)
		}
	}
	s := &tempFile{place: p, in: in, old: old, temp: tempName + rand.Text() + ".tmp"}
	s.info = info
	perm := fs.FileMode(0o666)
	if info != nil {
		perm = 0o600 // until it has its owner
	}
	f, err := in.root.OpenFile(s.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if old != nil && (errors.Is(err, fs.ErrPermission) || isReadOnly(err)) {
		return irreplaceable(p.path, "no file can be made in its directory")
	}
	if err != nil {
		return c.l.explain(p.path, err)
	}
	c.all = append(c.all, s)
	_, err = f.Write(data)
	if err == nil && info != nil {
		if err := keepOwner(f, info); err != nil {
			_ = f.Close() // it is given up
			return irreplaceable(p.path, fmt.Sprintf("it could not be given to its user or group (%v)", cause(err)))
		}
		err = f.Chmod(info.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky))
		if errors.Is(err, errors.ErrUnsupported) {
			err = nil
		}
	}
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return c.l.explain(p.path, err)
	}
	return nil
}

// commit puts all staged files into their places, or none of them.
func (c *change) commit(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for i, s := range c.all {
		if err := c.put(s); err != nil {
			return c.takeBack(c.all[:i], err)
		}
	}
	for _, d := range c.dirs {
		_ = d.file.Sync() // not every system can; the files themselves are on the disk
	}
	return nil
}

// put puts a staged file into its place, unless the file there is another one than
// before.
func (c *change) put(s *tempFile) error {
	now, err := s.in.root.Lstat(s.name())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		now = nil
	case err != nil:
		return c.l.explain(s.path, err)
	}
	if (now == nil) != (s.info == nil) || now != nil && (!os.SameFile(now, s.info) || now.Size() != s.info.Size() || !now.ModTime().Equal(s.info.ModTime())) {
		return xerrors.Errorf("%s was changed by somebody else just now; read it again: %w", s.path, ErrChanged)
	}
	err = rename(s.in.root, s.temp, s.name())
	if errors.Is(err, syscall.EBUSY) {
		return irreplaceable(s.path, "it is a mount point")
	}
	if err != nil {
		return c.l.explain(s.path, err)
	}
	s.temp = ""
	return nil
}

// irreplaceable is the error of a file that can be written, and in its place alone. That
// could leave a part of the old or the new content.
func irreplaceable(path, why string) error {
	return xerrors.Errorf("%s can be written, but no new file can take its place, since %s; write into it by a command, such as cat > or cp: %w", path, why, errors.ErrUnsupported)
}

// takeBack brings the files back that are in their places already.
func (c *change) takeBack(placed []*tempFile, err error) error {
	var failed []string
	for _, s := range placed {
		var back error
		if s.old == nil {
			back = s.in.root.Remove(s.name())
		} else if back = c.stage(context.Background(), s.place, s.old, s.old.data); back == nil {
			back = rename(s.in.root, c.all[len(c.all)-1].temp, s.name())
		}
		if back != nil {
			failed = append(failed, s.path)
		}
	}
	if len(failed) > 0 {
		return xerrors.Errorf("%v, and %s could not be brought back: %w", err, strings.Join(failed, ", "), procmgr.ErrUnknown)
	}
	return err
}
