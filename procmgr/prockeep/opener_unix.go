//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

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

// recall lets a keeper whose directory was removed make it anew, and greets it. If
// it can be told that there is none, the error is errAbsent.
func (o *opener) recall(ctx context.Context) (*line, error) {
	conn, err := dialName(ctx, o.dir)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if checkPeer(conn) != nil {
		return nil, errAbsent // another user has the name
	}
	l := &line{conn: conn}
	done := l.bound(ctx, greetTime)
	_, err = conn.Read(make([]byte, 1))
	done()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, xerrors.Errorf("the keeper has not answered for %v: is it stopped?", greetTime)
	}
	for pause := time.Millisecond; err == nil && l.alive(); pause = min(2*pause, maxEndPause) {
		found, err := greet(ctx, o.socket())
		if !errors.Is(err, errAbsent) {
			return found, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, errAbsent
}

// isLost reports whether the socket of a keeper that lives was removed.
func (o *opener) isLost() bool {
	_, err := os.Lstat(o.socket())
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
