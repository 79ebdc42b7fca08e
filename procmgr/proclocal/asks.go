package proclocal

import (
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal/internal/asking"
)

// lookForQuestions lets the Local find out whether a process waits for input. The
// caller has set all fields that do not change.
func (l *Local) lookForQuestions(r *record) {
	if r.in == nil {
		return
	}
	r.asks.Store(l.asks.Add(asking.Source{
		Chat: r.chat,
		Look: r.tree.Waiting,
		Active: func() (time.Time, int64) {
			at, writes := r.in.Active()
			if began := r.shown.Load().StartedAt; began.After(at) {
				at = began
			}
			return at, writes
		},
		Stamp: r.in.Stamp,
		Began: func(w procmgr.Waiting) { l.waits(r, w) },
	}))
}

// waits notes that a process has begun to wait for input.
func (l *Local) waits(r *record, w procmgr.Waiting) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !r.exited() {
		p := r.snapshot()
		p.Waiting = &w
		l.happened(procmgr.EventWaiting, w.Since, p, "")
	}
}

// waiting returns the member that waits for input, or nil.
func (r *record) waiting(state procmgr.State) *procmgr.Waiting {
	if state == procmgr.Exited {
		return nil
	}
	return r.asks.Load().Now()
}
