package proclocal

import (
	"math"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal/internal/retention"
)

// SetRetain changes Options.Retain from now on, also for what has exited already.
func (l *Local) SetRetain(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.opts.Retain = bound(d, defaultRetain, math.MaxInt64)
	l.expiring = nil
	l.expire()
}

// expire drops the records that have been kept long enough, or whose memory or
// place others need, and leaves a tombstone for each. The caller holds mu.
func (l *Local) expire() {
	for e := l.exits.Front(); e != nil; e = l.exits.Front() {
		r := e.Value.(*record)
		// ExitedAt no longer changes.
		left := l.opts.Retain - time.Since(r.process.ExitedAt)
		if left > 0 && l.memory.Load() <= l.opts.OutputMemory && l.exits.Len() <= retention.MaxTombstones {
			l.expireIn(r, left)
			return
		}
		l.exits.Remove(e)
		l.table.remove(r, buried(r))
		r.out.Drop()
		r.out.RetireLog()
	}
}

// buried returns the tombstone of a record that has exited.
func buried(r *record) *tombstone {
	p := r.snapshot()
	p.Command = retention.CutShort(p.Command)
	p.LogPath = "" // the log goes with the record
	return &tombstone{id: r.id, key: r.key, left: procmgr.Output{Process: p, Withheld: r.withheld, PassedOver: r.passedOver, Next: r.out.Total()}}
}

// expireIn makes the oldest record expire after a while. The caller holds mu.
func (l *Local) expireIn(oldest *record, d time.Duration) {
	if l.closed || l.expiring == oldest {
		return // a timer that changed at every exit would be costly
	}
	l.expiring = oldest
	if l.expiry != nil {
		l.expiry.Reset(d)
		return
	}
	l.expiry = time.AfterFunc(d, l.retire)
}

// makeRoom is called when the kept output has grown.
func (l *Local) makeRoom() {
	if l.memory.Load() > l.opts.OutputMemory {
		l.retire()
	}
}

// retire is expire for a caller that does not hold mu.
func (l *Local) retire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expiring = nil
	l.expire()
}

// freeLog drops the oldest log of a process that has exited. It reports whether
// there was one.
func (l *Local) freeLog() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for e := l.exits.Front(); e != nil; e = e.Next() {
		if e.Value.(*record).out.RetireLog() {
			return true
		}
	}
	return false
}
