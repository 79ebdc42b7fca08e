package proclocal

import (
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/prompt"
)

// watchForPrompts lets the Local find out whether a process waits for input. The
// caller has set all fields that do not change.
func (l *Local) watchForPrompts(r *record) {
	if r.in == nil {
		return
	}
	r.prompts.Store(l.prompts.Add(prompt.Source{
		Chat: r.chat,
		Look: r.tree.Waiting,
		Active: func() (time.Time, int64) {
			at, writes := r.in.Active()
			if began := r.shown.Load().StartedAt; began.After(at) {
				at = began
			}
			return at, writes
		},
		Began: func(f prompt.Found) { l.waits(r, f) },
	}))
}

// waits notes that a process has begun to wait for input.
func (l *Local) waits(r *record, f prompt.Found) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !r.exited() {
		p := r.snapshot()
		p.Waiting = waitingOf(f)
		l.happened(procmgr.EventWaiting, f.Since, p, "")
	}
}

func waitingOf(f prompt.Found) *procmgr.Waiting {
	return &procmgr.Waiting{Since: f.Since, PID: f.PID, Program: f.Program, Secret: f.Secret}
}

// waiting returns the member that waits for input, or nil.
func (r *record) waiting(state procmgr.State) *procmgr.Waiting {
	if state == procmgr.Exited {
		return nil
	}
	if f, ok := r.prompts.Load().Now(); ok {
		return waitingOf(f)
	}
	return nil
}
