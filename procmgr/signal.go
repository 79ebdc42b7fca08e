package procmgr

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"syscall"
	"time"

	"golang.org/x/xerrors"
)

// killTime is how long Kill repeats itself.
const killTime = 5 * time.Second

// number is the system's signal.
func (s Signal) number() syscall.Signal {
	switch s {
	case Terminate:
		return syscall.SIGTERM
	case Interrupt:
		return syscall.SIGINT
	}
	return syscall.SIGKILL
}

// signal is Signal in one chat.
func (l *Local) signal(ctx context.Context, chat, id string, sig Signal) error {
	if err := sig.check(); err != nil {
		return err
	}
	if err := checkID(id); err != nil {
		return err
	}
	r, err := l.target(chat, id, sig)
	if err != nil {
		return err
	}
	if err := r.started(ctx); err != nil {
		if r.failed != nil {
			err = ErrNotFound
		}
		return err
	}
	l.sweepNow(r)
	if !r.ask(CauseRequest) {
		return ErrNotRunning
	}
	r.log(slog.LevelInfo, "process signalled", slog.String("signal", string(sig)))
	if sig == Kill {
		left, err := l.kill(ctx, []*record{r})
		if err == nil && len(left) > 0 {
			err = xerrors.Errorf("killed, but not all of it is gone after %v: %s", killTime, left[0])
		}
		return err
	}
	l.deliver([]*record{r}, sig.number())
	return nil
}

// target finds the record to signal. An ID that was never used is spent by a
// stop, so that a start that is still on its way runs nothing.
func (l *Local) target(chat, id string, sig Signal) (*record, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.chats[chat]; c != nil && c.byID[id] != nil {
		return c.byID[id], nil
	}
	t := l.past.get(chat, id)
	switch {
	case t != nil && !t.spent:
		return nil, ErrNotRunning
	case t == nil && sig != Interrupt && !l.closed:
		l.past.add(chat, &tombstone{id: id, spent: true})
	}
	return nil, ErrNotFound
}

// A survivor is a process that a kill has not ended.
type survivor struct {
	id   string
	pids []int // live members; none where something unseen holds the pipe
}

func (s survivor) String() string {
	if len(s.pids) == 0 {
		return fmt.Sprintf("process %s: something that left its session still holds its output", s.id)
	}
	pids := make([]string, len(s.pids))
	for i, pid := range s.pids {
		pids[i] = fmt.Sprint(pid)
	}
	return fmt.Sprintf("process %s: pid %s", s.id, strings.Join(pids, ", "))
}

// kill repeats SIGKILL until nothing is left of some processes, or killTime is
// over; it returns what survived.
func (l *Local) kill(ctx context.Context, rs []*record) ([]survivor, error) {
	deadline := time.NewTimer(killTime)
	defer deadline.Stop()
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		live := l.deliver(rs, syscall.SIGKILL)
		retry := time.After(pause)
		var left []*record
		for i, r := range rs {
			switch waitExited(ctx, r, retry, deadline.C) {
			case waitedLong: // send it again to all that are left
				left = append(left, r)
				for _, r := range rs[i+1:] {
					if !r.exited() {
						left = append(left, r)
					}
				}
			case waitedOut:
				return survivors(rs, live), nil
			case waitedCanceled:
				return nil, ctx.Err()
			}
			if left != nil {
				break
			}
		}
		if left == nil {
			return nil, nil
		}
		rs = left
	}
}

func survivors(rs []*record, live map[*record][]int) (left []survivor) {
	for _, r := range rs {
		if !r.exited() {
			left = append(left, survivor{id: r.id, pids: live[r]})
		}
	}
	return left
}

type waited int

const (
	waitedExit waited = iota
	waitedLong
	waitedOut
	waitedCanceled
)

// waitExited waits until a process has exited, or one of two timers or the
// context says that this is enough.
func waitExited(ctx context.Context, r *record, retry, deadline <-chan time.Time) waited {
	for {
		r.mu.Lock()
		state, changed := r.process.State, r.changed
		r.mu.Unlock()
		if state == Exited {
			return waitedExit
		}
		select {
		case <-changed:
		case <-retry:
			return waitedLong
		case <-deadline:
			return waitedOut
		case <-ctx.Done():
			return waitedCanceled
		}
	}
}
