package proclocal

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
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
		l.table.bury(chat, &tombstone{id: id, used: time.Now(), spent: true})
	}
	return nil, procmgr.ErrNotFound
}

// cannotSettle says why it is unknown whether a process has members.
const cannotSettle = "processes are started faster than they can be looked at, or none can be looked at"

// A survivor is a process that a kill has not ended.
type survivor struct {
	id   string
	pids []int // live members
	why  string
}

func (s survivor) String() string {
	if len(s.pids) == 0 {
		return fmt.Sprintf("process %s: %s", s.id, s.why)
	}
	pids := make([]string, len(s.pids))
	for i, pid := range s.pids {
		pids[i] = fmt.Sprint(pid)
	}
	text := fmt.Sprintf("process %s: pid %s", s.id, strings.Join(pids, ", "))
	if s.why != "" {
		text += " (" + s.why + ")"
	}
	return text
}

// unsure returns a survivor for each process with a member that may have escaped
// unseen.
func (l *Local) unsure(rs []*record) (left []survivor) {
	for _, r := range rs {
		switch {
		case !r.tree.Unsure():
		case l.system.Blind() != nil:
			left = append(left, survivor{id: r.id, why: cannotSettle})
		default:
			left = append(left, survivor{id: r.id, why: "a daemon of it may have escaped before it was marked; Linux 6.12 or Options.Cgroup prevents that"})
		}
	}
	return left
}

// kill repeats SIGKILL until nothing is left of some processes, or until it is time to
// give up. It returns the survivors.
func (l *Local) kill(ctx context.Context, rs []*record) ([]survivor, error) {
	began, pause := time.Now(), killSoon
	for looks := 1; len(rs) > 0; looks++ {
		sent, _ := l.system.Signal(treesOf(rs), osproc.SIGKILL) // a process that cannot be signalled is named below
		var err error
		if rs, err = awaitExits(ctx, rs, pause); err != nil {
			return nil, err
		}
		took := time.Since(began)
		if len(rs) > 0 && (took > 2*killTime || took > killTime && looks >= killLooks) {
			return l.survivors(rs, sent), nil
		}
		pause = 2 * killSoon
	}
	return nil, nil
}

// survivors says why some processes have not exited in time. A process without live
// members is about to exit.
func (l *Local) survivors(rs []*record, sent osproc.Delivery) (left []survivor) {
	for _, r := range rs {
		s := survivor{id: r.id, pids: sent.Live[r.tree]}
		switch {
		case r.exited():
			continue
		case len(s.pids) > 0:
		case !sent.Settled:
			s.why = cannotSettle
		case r.tree.Held():
			s.why = "something that cannot be found still holds its output"
		default:
			s.why = "nothing of it was found alive, but its end is not told yet"
		}
		left = append(left, s)
	}
	return left
}

// awaitExits waits until all of some processes have exited, or until a while is over.
// It returns the processes that have not exited.
func awaitExits(ctx context.Context, rs []*record, d time.Duration) ([]*record, error) {
	over := time.NewTimer(d)
	defer over.Stop()
	for i := 0; i < len(rs); {
		r := rs[i]
		state, changed := r.stateAndChange()
		if state == procmgr.Exited {
			i++
			continue
		}
		select {
		case <-changed:
		case <-over.C:
			return slices.DeleteFunc(slices.Clone(rs[i:]), (*record).exited), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, nil
}

// killTime is how long Kill repeats itself. killSoon is how long it waits for
// the end of what it has killed until it looks again. A program that hardly gets a
// processor, beside others that are busy, looks killLooks times before it gives up, for
// twice the time at most: what it has killed does not get a processor to end, either.
const (
	killTime  = 5 * time.Second
	killSoon  = 50 * time.Millisecond
	killLooks = 20
)
