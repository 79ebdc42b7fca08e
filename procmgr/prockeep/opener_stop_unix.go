//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/xerrors"
)

// stop ends the keeper if one runs, and waits until its process has gone. If it is
// killed before it has ended its processes, another keeper does that.
func (o *opener) stop(ctx context.Context) error {
	asked := "" // the token of a keeper that was asked to end
	for range maxStopTries {
		l, err := o.greet(ctx)
		if errors.Is(err, errAbsent) && o.hasLeft() {
			if l, err = o.connect(ctx); err != nil {
				return xerrors.Errorf("a keeper was killed and may have left processes, and no other one can be started to end them: %w", err)
			}
		}
		if err == nil {
			if asked == "" || l.launched || slices.Contains(l.status.Tokens, asked) {
				asked = l.status.token()
				err = l.stop(ctx)
			} else {
				err = o.awaitEnd(ctx, l, asked)
			}
			l.close()
		}
		switch {
		case errors.Is(err, errEnded):
		case errors.Is(err, errAbsent):
			return nil
		default:
			return err
		}
	}
	return xerrors.Errorf("each of %d keepers ended in the midst of it", maxStopTries)
}

// hasLeft reports whether a keeper may have died and left processes.
func (o *opener) hasLeft() bool {
	_, err := os.Stat(filepath.Join(o.dir, nameJournal))
	return err == nil || len(endings(o.dir)) > 0
}

// awaitEnd waits until the processes of a keeper that was killed at its end have
// ended. Another program's keeper does that, and goes on; l leads to it.
func (o *opener) awaitEnd(ctx context.Context, l *line, token string) error {
	for pause := time.Millisecond; slices.Contains(endings(o.dir), token); pause = min(2*pause, maxEndPause) {
		if !l.alive() {
			return errEnded
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
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

// absent reports whether a directory certainly has no keeper, and nothing that one
// has left.
func absent(ctx context.Context, dir string) bool {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return false
	}
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return errors.Is(err, fs.ErrNotExist)
	}
	o := opener{dir: dir}
	l, err := o.greet(ctx)
	if err == nil {
		l.close()
	}
	return errors.Is(err, errAbsent) && !o.hasLeft()
}
