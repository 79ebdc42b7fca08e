package proclocal

import (
	"context"
	"log/slog"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/check"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// numberOf returns the system's signal.
func numberOf(s procmgr.Signal) osproc.Signal {
	switch s {
	case procmgr.Terminate:
		return osproc.SIGTERM
	case procmgr.Interrupt:
		return osproc.SIGINT
	}
	return osproc.SIGKILL
}

// signal is Signal in one chat.
func (l *Local) signal(ctx context.Context, chat, id string, sig procmgr.Signal) error {
	if err := check.Signal(sig); err != nil {
		return err
	}
	if err := check.ID(id); err != nil {
		return err
	}
	r, err := l.target(chat, id, sig)
	if err != nil {
		return err
	}
	for {
		failed, err := r.started(ctx)
		if err == nil {
			break
		} else if !failed {
			return err
		}
		// Nothing was started, so this is the stop of an unused ID.
		if r, err = l.target(chat, id, sig); err != nil {
			return err
		}
	}
	if !r.ask(procmgr.CauseRequest) {
		if left := l.unsure([]*record{r}); sig == procmgr.Kill && len(left) > 0 {
			return xerrors.Errorf("it has exited, but something of it may live on: %s", left[0])
		}
		return procmgr.ErrNotRunning
	}
	r.log(slog.LevelInfo, "process signalled", slog.String("signal", string(sig)))
	if sig == procmgr.Kill {
		began := time.Now()
		left, err := l.kill(ctx, []*record{r})
		if err == nil && len(left) > 0 {
			err = xerrors.Errorf("killed, but not all of it is gone after %v: %s", time.Since(began).Round(time.Second), left[0])
		}
		if maybe := l.unsure([]*record{r}); err == nil && len(maybe) > 0 {
			err = xerrors.Errorf("killed, but something of it may live on: %s", maybe[0])
		}
		return err
	}
	_, err = l.system.Signal(treesOf([]*record{r}), numberOf(sig))
	return err
}

// target finds the record to signal. If the ID was never used, Terminate and
// Kill spend it, so that a start that is still under way runs nothing.
func (l *Local) target(chat, id string, sig procmgr.Signal) (*record, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.table.get(chat, id)
	switch {
	case a.record != nil:
		return a.record, nil
	case a.past != nil && !a.past.spent:
		return nil, procmgr.ErrNotRunning
	case a.past == nil && sig != procmgr.Interrupt && !l.closed:
		l.table.bury(chat, &tombstone{id: id, spent: true})
	}
	return nil, procmgr.ErrNotFound
}
