package procmgr

import (
	"log/slog"
	"time"

	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

const (
	// sweepEvery is how often all that has exited since is looked after, at
	// the most.
	sweepEvery = time.Second
	// sweepSoon is how long a sweep waits for more that exits.
	sweepSoon = 100 * time.Millisecond
)

// sweeps are searches for what left its session and its pipe in one breath, as
// in "setsid x >/dev/null 2>&1 &". When its shell exits nothing is left to see
// without a look at every process of the machine, which no call is to pay for:
// one search serves all that has exited meanwhile. The Local's mu guards it.
type sweeps struct {
	pending []*record
	timer   *time.Timer
	last    time.Time
}

func (s *sweeps) stop() {
	if s.timer != nil {
		s.timer.Stop()
	}
}

// sweepLater has a process that has exited looked after. The caller holds mu.
func (l *Local) sweepLater(r *record) {
	if l.closed || !r.unswept {
		return
	}
	l.sweeps.pending = append(l.sweeps.pending, r)
	if len(l.sweeps.pending) > 1 {
		return // the timer runs
	}
	wait := max(sweepSoon, time.Until(l.sweeps.last.Add(sweepEvery)))
	if l.sweeps.timer == nil {
		l.sweeps.timer = time.AfterFunc(wait, l.sweep)
	} else {
		l.sweeps.timer.Reset(wait)
	}
}

// sweep looks after all that is pending.
func (l *Local) sweep() {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return // Close looks for itself
	}
	l.wg.Add(1)
	defer l.wg.Done()
	rs := l.sweeps.pending
	l.sweeps.pending = nil
	l.sweeps.last = time.Now()
	l.mu.Unlock()
	l.revive(rs)
}

// sweepNow looks after those of some processes that are pending, for who cannot
// wait.
func (l *Local) sweepNow(rs ...*record) {
	l.mu.Lock()
	var unswept []*record
	for _, r := range rs {
		if r.unswept {
			unswept = append(unswept, r)
		}
	}
	l.mu.Unlock()
	if len(unswept) > 0 {
		l.revive(unswept)
	}
}

// revive searches once, and returns what is found to the living.
func (l *Local) revive(rs []*record) {
	found, looked := l.system.Search(treesOf(rs))
	for _, r := range rs {
		left := found[r.tree]
		l.mu.Lock()
		r.unswept = !looked
		l.sweepLater(r)
		r.mu.Lock()
		if left == nil || r.process.State != Exited || l.settled {
			r.mu.Unlock()
			l.mu.Unlock()
			left.Close()
			continue
		}
		r.process.ExitedAt = time.Time{}
		r.turn(Detached)
		r.mu.Unlock()
		l.resume(r)
		l.mu.Unlock()
		l.opts.Metrics.again(1)
		r.log(slog.LevelInfo, "process detached: what left its session was found")
		go r.rewatch(left)
	}
}

// resume puts a record back among those that have not exited. The caller holds
// mu.
func (l *Local) resume(r *record) {
	if r.exit != nil {
		l.exits.Remove(r.exit)
		r.exit = nil
	} else { // buried meanwhile
		l.past.remove(r.chat, r.id)
		r.out.Reclaim()
	}
	c := l.chatRecords(r.chat)
	c.byID[r.id] = r
	c.running++
	l.running++
	l.wg.Add(1)
}

// rewatch follows what had left its session until it is gone. Close waits for
// it. OnExit is not called again.
func (r *record) rewatch(left *osproc.Escaped) {
	defer r.local.wg.Done()
	if !left.Follow() {
		return
	}
	r.local.finishAgain(r)
	r.local.opts.Metrics.again(-1)
	r.log(slog.LevelInfo, "process exited")
}
