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

// afterExit has a process that has exited looked after, and others expire.
func (l *Local) afterExit(r *record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweepLater(r)
	l.expire()
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
		go l.rewatch(r, left)
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
	l.chats.begun(r)
	l.wg.Add(1)
}

// rewatch follows what had left its session until it is gone. Close waits for
// it. OnExit is not called again.
func (l *Local) rewatch(r *record, left *osproc.Escaped) {
	defer l.wg.Done()
	if !left.Follow() {
		return
	}
	l.finishAgain(r)
	l.opts.Metrics.again(-1)
	r.log(slog.LevelInfo, "process exited")
}

// finishAgain is finish for what had come back.
func (l *Local) finishAgain(r *record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over(r, time.Now(), func() {
		if r.asked != "" {
			r.process.EndedBy = r.asked
		}
	})
	l.expire()
}
