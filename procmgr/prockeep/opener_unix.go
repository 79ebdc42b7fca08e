//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// The files in a keeper's directory.
const (
	nameLock   = "lock"       // held by the program that opens the directory, for moments
	nameSocket = "keeper"     // while a keeper runs
	nameLog    = "keeper.log" // what keepers have logged, and their last words
	// nameJournal has what is known of each process, for the next keeper if this one dies.
	nameJournal = "journal"
)

// maxDirectory is the length of the longest path of a directory in which
// ListenUnix can make a socket: it makes it as ".XXXXXX/s" first.
const maxDirectory = len(syscall.RawSockaddrUnix{}.Path) - 1 - len("/.XXXXXX/s")

// An opener finds or starts the keeper of a directory, as often as necessary.
type opener struct {
	dir     string
	options passed // for a keeper that it starts
	require []string
	log     *slog.Logger
}

func (o *opener) socket() string { return filepath.Join(o.dir, nameSocket) }

// take takes the name of the directory.
func (o *opener) take(dir string) error {
	if dir == "" {
		return xerrors.Errorf("the directory has no name: %w", procmgr.ErrInvalid)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return xerrors.Errorf("the directory is relative, and this program's own has gone: %w", procmgr.ErrInvalid)
	}
	if len(dir) > maxDirectory {
		return xerrors.Errorf("the path of the directory has %d bytes; with more than %d, no socket can be in it: %s: %w",
			len(dir), maxDirectory, dir, procmgr.ErrInvalid)
	}
	o.dir = dir
	return nil
}

// makeDir makes a directory if it is not there, and keeps others out of it.
func makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return xerrors.Errorf("the directory cannot be made: %w", err)
	}
	// A link that somebody else has put there could lead to any directory of ours.
	for _, look := range []func(string) (fs.FileInfo, error){os.Lstat, os.Stat} {
		info, err := look(dir)
		if err != nil {
			return err
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Geteuid() {
			return xerrors.Errorf("%s belongs to another user: %w", dir, procmgr.ErrInvalid)
		}
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return xerrors.Errorf("%s is no directory: %w", dir, procmgr.ErrInvalid)
	case info.Mode().Perm()&0o077 != 0:
		if err := os.Chmod(dir, 0o700); err != nil {
			return xerrors.Errorf("others can enter the directory, and that cannot be changed: %w", err)
		}
	}
	return nil
}

// maxAbsent is how often connect finds no keeper, before it gives up. More than
// once is rare: a keeper ends in the midst of the greeting, or one that a killed
// program had begun to start gets ahead of another one.
const maxAbsent = 5

// connect returns a connection to the keeper, and starts it if none runs. It
// holds the lock meanwhile, so that of several programs one starts it.
func (o *opener) connect(ctx context.Context) (*line, error) {
	lock, err := o.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { lock.Close() }()
	var failed error
	launched := false
	for range maxAbsent {
		l, err := o.greet(ctx)
		switch {
		case err == nil:
			l.launched = launched
			if err := o.options.agree(l.status.Options, o.require); err != nil {
				l.close()
				return nil, err
			}
			return l, nil
		case !errors.Is(err, errAbsent):
			return nil, err
		case failed != nil && !errors.Is(failed, errTaken):
			return nil, failed
		}
		if failed = o.launch(ctx); failed == nil {
			launched = true
			// A keeper that serves is greeted even if ctx ends now. Otherwise it
			// would live on for its idle time, with nobody who knows of it.
			ctx = context.WithoutCancel(ctx)
			o.log.LogAttrs(ctx, slog.LevelInfo, "keeper started", slog.String("dir", o.dir))
		} else if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	if failed != nil {
		return nil, failed
	}
	return nil, xerrors.Errorf("each of %d keepers ended as soon as it was started; %s may say why", maxAbsent, filepath.Join(o.dir, nameLog))
}

// greet greets the keeper of the directory. If the directory was removed, it lets
// the keeper make it anew first.
func (o *opener) greet(ctx context.Context) (*line, error) {
	l, err := greet(ctx, o.socket())
	if errors.Is(err, errAbsent) {
		return o.recall(ctx)
	}
	return l, err
}

// lock makes the directory, and waits for its lock.
func (o *opener) lock(ctx context.Context) (*os.File, error) {
	path := filepath.Join(o.dir, nameLock)
	for {
		if err := makeDir(o.dir); err != nil {
			return nil, err
		}
		f, err := o.lockFile(ctx, path)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) && ctx.Err() == nil {
				continue // the directory was removed just now
			}
			return nil, err
		}
		if own, err := f.Stat(); err == nil && isAt(path, own) {
			return f, nil
		}
		f.Close() // it was removed, and another program may have locked the one that is there now
	}
}

func (o *opener) lockFile(ctx context.Context, path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, xerrors.Errorf("the directory cannot be locked: %w", err)
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return f, nil
		case !errors.Is(err, syscall.EINTR) && !errors.Is(err, syscall.EWOULDBLOCK):
			f.Close()
			return nil, xerrors.Errorf("the directory cannot be locked: %w", err)
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		}
	}
}

// stopTime is how long the end of a keeper may take. Its Local may wait as long
// as its StopGrace says.
const stopTime = 24 * time.Hour

// maxStopTries is how many keepers a stop may meet that end in the midst of it, as
// at an upgrade.
const maxStopTries = 100

// stop ends the keeper at the other end. If that one ends before it answers, the
// error is errEnded: another one may go on for it.
func (l *line) stop(ctx context.Context) error {
	data, err := l.call(ctx, http.MethodDelete, stopTime)
	if err != nil {
		return err
	}
	var r report
	if err := json.Unmarshal(data, &r); err != nil {
		return xerrors.Errorf("the keeper's answer cannot be read: %w", err)
	}
	if err := l.gone(ctx); err != nil {
		return err
	}
	if r.Error != "" {
		return xerrors.New(r.Error)
	}
	return nil
}
