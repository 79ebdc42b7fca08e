//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/prockeep/internal/holder"
	"github.com/toolproc/toolproc/procmgr/prockeep/internal/journal"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// endOthers lets this keeper end what earlier ones of the directory have not
// ended, as soon as these are dead. The goroutines end when nothing of that is left;
// the end of this keeper waits for them.
func (s *server) endOthers() {
	for _, token := range endings(s.dir) {
		s.others.Go(func() {
			if err := s.endWhenDead(endingPath(s.dir, token), &holder.Heritage{}, nil); err != nil {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.othersErr = err
			}
		})
	}
}

func (s *server) otherErr() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.othersErr
}

// endWhenDead waits until nobody has the journal of a keeper that ends, and then
// ends its processes.
func (s *server) endWhenDead(path string, h *holder.Heritage, link *holder.Link) error {
	for pause := time.Millisecond; ; pause = min(2*pause, maxEndPause) {
		err := s.endOther(path, h, link)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case errors.Is(err, journal.ErrLocked):
			time.Sleep(pause)
			continue
		case err != nil:
			s.log.Error("not all processes of an earlier keeper are gone", slog.String("error", err.Error()))
		}
		return err
	}
}

// endOther ends the processes of a keeper that was killed while it did that. h has
// what the holder has of them, and link leads to the holder that is their parent; nil
// if it is not this keeper's.
func (s *server) endOther(path string, h *holder.Heritage, link *holder.Link) error {
	j, err := journal.Resume(path)
	if err != nil {
		return err
	}
	defer func() { _ = j.Close() }() // nobody needs it
	keep := newKeep(j, link, s.log)
	keep.share()
	past := keep.past()
	if boot := bootID(); past.boot != "" && past.boot != boot {
		return j.Remove()
	}
	if err := past.check(path); err != nil {
		return err
	}
	past.inherit(h)
	s.log.Warn("a keeper was killed before it had ended all processes", slog.Int("ids", len(past.Entries)))
	options, err := s.options.options()
	if err != nil {
		return err
	}
	options.Local.Logger = s.log
	local, run, err := proclocal.Recover(&options.Local, keep, &past.Journal)
	if err != nil {
		return err
	}
	if link != nil {
		keep.tellLeaders()
		link.Settle(j.Late() == 0)
	}
	run()
	ended := local.Close()
	if err := j.Remove(); err != nil {
		return err
	}
	return ended
}

// errOver is the error of a keeper that had only to go on with the end of the one
// before it, and has done so.
var errOver = xerrors.New("the keeper before this one was about to end")

// endAgain goes on with the end of the keeper before this one.
func (s *server) endAgain(path string, h *holder.Heritage) error {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP) // it ends already
	for _, f := range h.Held {
		if f.Seq != seqSocket {
			continue
		}
		if f.Role == roleSocket { // the directory was not free yet
			_ = os.Remove(filepath.Join(s.dir, nameSocket)) // somebody else may have removed it
		}
		_ = syscall.Close(f.FD) // nobody is served
	}
	s.link.DropAll(seqSocket)
	s.link.End()
	s.bringBack(path, h)
	_ = s.endWhenDead(path, h, s.link) // it is logged
	return errOver
}

// retire lets another keeper have the directory: what this one writes down from now
// on is for whoever goes on with its end.
func (s *server) retire() {
	if err := s.keep.journal.Move(endingPath(s.dir, s.token)); err != nil {
		s.log.Warn("the journal stays", slog.String("error", err.Error()))
	}
}

// retired is called when all processes have ended.
func (s *server) retired() {
	if err := s.keep.journal.Remove(); err != nil {
		s.log.Warn("the journal stays", slog.String("error", err.Error()))
	}
}
