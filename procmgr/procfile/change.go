package procfile

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

const (
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
	undo []func() // removes the directories that were made, the last first
	all  []*staged
	done bool
}

// A folder is a directory in which a change writes.
type folder struct {
	root *os.Root
	file *os.File // has the lock
}

// A staged file is written, and not yet in its place.
type staged struct {
	place
	in     *folder
	temp   string
	backup string // a second name of the file before; "" if there is none
	placed bool
}

// begin waits for the turn. The caller ends the change.
func (l *Local) begin(ctx context.Context) (*change, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case l.turn <- struct{}{}:
		return &change{l: l, dirs: make(map[string]*folder)}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// end removes what an unfinished change has left, and returns its error.
func (c *change) end(err error) error {
	for _, s := range c.all {
		if s.temp != "" {
			_ = s.in.root.Remove(s.temp) // it is ours alone
		}
		if s.backup != "" {
			_ = s.in.root.Remove(s.backup) // the same
		}
	}
	if !c.done {
		for _, undo := range slices.Backward(c.undo) {
			undo()
		}
	}
	for _, d := range c.dirs {
		_ = d.file.Close() // it was only read
		_ = d.root.Close() // the same
	}
	<-c.l.turn
	return err
}

// lock opens the directories of some places and locks them, always in the same order.
func (c *change) lock(ctx context.Context, places ...place) error {
	places = slices.Clone(places)
	slices.SortFunc(places, func(a, b place) int { return strings.Compare(a.dir(), b.dir()) })
	for _, p := range places {
		if c.dirs[p.dir()] != nil {
			continue
		}
		root, undo, err := c.l.openDir(p)
		if err != nil {
			return err
		}
		c.undo = append(c.undo, undo)
		file, err := root.Open(".")
		if err != nil {
			_ = root.Close() // the error says more
			return c.l.explain(p.dir(), err)
		}
		c.dirs[p.dir()] = &folder{root, file}
		for until := time.Now().Add(lockTime); !tryLock(file); {
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
	s := &staged{place: p, in: in, temp: ".toolproc-" + rand.Text() + ".tmp"}
	s.info = info
	perm := fs.FileMode(0o666)
	if info != nil {
		perm = 0o600 // until it has its owner
	}
	f, err := in.root.OpenFile(s.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return c.l.explain(p.path, err)
	}
	c.all = append(c.all, s)
	_, err = f.Write(data)
	if err == nil && info != nil {
		if err := keepOwner(f, info); err != nil {
			_ = f.Close() // it is given up
			return xerrors.Errorf("%s belongs to another user or group, and a new file could not be given to them (%v): write it by a command: %w", p.path, cause(err), fs.ErrPermission)
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
	if len(c.all) > 1 {
		for _, s := range c.all {
			if err := s.back(); err != nil {
				return c.l.explain(s.path, err)
			}
		}
	}
	for _, s := range c.all {
		if err := c.put(s); err != nil {
			return c.takeBack(err)
		}
	}
	c.done = true
	for _, d := range c.dirs {
		_ = d.file.Sync() // not every system can; the files themselves are on the disk
	}
	return nil
}

// back gives a file a second name, by which it can come back.
func (s *staged) back() error {
	if s.info == nil {
		return nil
	}
	name := ".toolproc-" + rand.Text() + ".bak"
	if err := s.in.root.Link(s.name(), name); err != nil {
		// A file system without second names: a copy.
		data, rerr := s.in.root.ReadFile(s.name())
		if rerr != nil {
			return err
		}
		if werr := s.in.root.WriteFile(name, data, s.info.Mode().Perm()); werr != nil {
			_ = s.in.root.Remove(name) // it is a part
			return werr
		}
	}
	s.backup = name
	return nil
}

// put puts a staged file into its place, unless the file there is another one than
// before.
func (c *change) put(s *staged) error {
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
	if err := rename(s.in.root, s.temp, s.name()); err != nil {
		return c.l.explain(s.path, err)
	}
	s.temp, s.placed = "", true
	return nil
}

// takeBack brings the files back that are in their places already.
func (c *change) takeBack(err error) error {
	var failed []string
	for _, s := range c.all {
		if !s.placed {
			continue
		}
		var back error
		if s.backup != "" {
			if back = rename(s.in.root, s.backup, s.name()); back == nil {
				s.backup = ""
			}
		} else {
			back = s.in.root.Remove(s.name())
		}
		if back != nil {
			failed = append(failed, s.path)
			s.backup = "" // whoever looks for it finds it
		}
	}
	if len(failed) > 0 {
		return xerrors.Errorf("%v, and %s could not be brought back: %w", err, strings.Join(failed, ", "), procmgr.ErrUnknown)
	}
	return err
}
