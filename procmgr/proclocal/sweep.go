package proclocal

import (
	"context"
	"log/slog"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

const (
	// sweepEvery is the shortest time between two sweeps.
	sweepEvery = time.Second
	// sweepSoon is how long a sweep waits for more processes to exit.
	sweepSoon = 100 * time.Millisecond
	// sweepPause is the time between two sweeps of a caller that has to know.
	sweepPause = 10 * time.Millisecond
)

// afterExit schedules a sweep for a process that has exited, and lets other
// records expire.
func (l *Local) afterExit(r *record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweepLater(r)
	l.expire()
}

// sweepLater schedules a sweep for a process that has exited. The caller holds
// mu.
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

// sweep searches for the escaped members of all pending processes.
func (l *Local) sweep() {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return // Close does its own search
	}
	l.wg.Add(1)
	defer l.wg.Done()
	rs := l.sweeps.pending
	l.sweeps.pending = nil
	l.sweeps.last = time.Now()
	l.mu.Unlock()
	l.revive(rs)
}

// sweepNow searches at once for those of some processes that no search has
// looked after yet. It is for callers that cannot wait. It returns the processes
// of which the search may have missed a member.
func (l *Local) sweepNow(rs ...*record) (unsure []*record) {
	rs = l.unsweptOf(rs)
	if len(rs) > 0 {
		l.revive(rs)
	}
	return l.unsweptOf(rs)
}

// sweepFully repeats sweepNow until no member can have been missed, or until
// its patience is over.
func (l *Local) sweepFully(ctx context.Context, rs ...*record) (unsure []*record) {
	patient := patience{began: time.Now()}
	for {
		if rs = l.sweepNow(rs...); len(rs) == 0 || patient.over() || l.system.Blind() != nil {
			return rs
		}
		select {
		case <-time.After(sweepPause):
		case <-ctx.Done():
			return rs
		}
	}
}

// unsweptOf returns those of some processes that no search has looked after.
func (l *Local) unsweptOf(rs []*record) (unswept []*record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range rs {
		if r.unswept {
			unswept = append(unswept, r)
		}
	}
	return unswept
}

// revive searches once. A process of which it finds live members becomes
// detached again.
func (l *Local) revive(rs []*record) {
	found, looked := l.system.Search(treesOf(rs))
	for _, r := range rs {
		left := found[r.tree]
		l.mu.Lock()
		r.unswept = !looked
		l.sweepLater(r)
		r.mu.Lock()
		if left == nil || r.process.State != procmgr.Exited || l.settled {
			r.mu.Unlock()
			l.mu.Unlock()
			left.Close()
			continue
		}
		r.process.ExitedAt = time.Time{}
		r.turn(procmgr.Detached)
		revived := r.snapshot()
		r.mu.Unlock()
		l.resume(r)
		l.happened(procmgr.EventRevived, time.Now(), revived, "")
		l.mu.Unlock()
		l.opts.Metrics.again(1)
		r.log(slog.LevelInfo, "process detached: what left its session was found")
		go l.rewatch(r, left)
	}
}

// resume puts a record back among those that have not exited. The caller holds
// mu.
func (l *Local) resume(r *record) {
	if r.inExits != nil {
		l.exits.Remove(r.inExits)
		r.inExits = nil
	} else { // the record has become a tombstone meanwhile
		l.past.Remove(r.chat, r.id)
		r.out.Reclaim()
	}
	l.chats.begun(r)
	l.wg.Add(1)
}

// rewatch follows the members that had left their session until they have gone.
// Close waits for it. OnExit is not called again.
func (l *Local) rewatch(r *record, left *osproc.Escaped) {
	defer l.wg.Done()
	if !left.Follow() {
		return
	}
	l.finishAgain(r)
	l.opts.Metrics.again(-1)
	r.log(slog.LevelInfo, "process exited")
}

// finishAgain is finish for a process that had come back.
func (l *Local) finishAgain(r *record) {
	l.mu.Lock()
	l.over(r, time.Now(), func() {
		if r.asked != "" {
			r.process.EndedBy = r.asked
		}
	})
	l.expire()
	l.mu.Unlock()
}
