package proclocal

import (
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/prompt"
)

const (
	// promptRound is how often a call that waits for input or for events finds out
	// whether a process has printed something, and is quiet again.
	promptRound = 100 * time.Millisecond
	// promptRest is how much longer such a call rests for each process.
	promptRest = 250 * time.Microsecond
)

// watchForPrompts lets the Local find out whether a process waits for input. The
// caller has set all fields that do not change.
func (l *Local) watchForPrompts(r *record) {
	if r.in == nil || !prompt.Supported {
		return
	}
	r.prompts.Store(&prompt.Watch{
		Waiting: r.tree.Waiting,
		Active: func() (time.Time, int64) {
			at, writes := r.in.Active()
			if began := r.shown.Load().StartedAt; began.After(at) {
				at = began
			}
			return at, writes
		},
		Began: func(f prompt.Found) { l.waits(r, f) },
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asking[r] = true
}

// lookForPrompts looks at the processes of a chat, or of all for "", for which it is time. It
// returns how long to rest until the next round, or 0 if no process has a stdin: then
// the start of one is an event.
func (l *Local) lookForPrompts(chat string) time.Duration {
	l.mu.Lock()
	var all []*record
	for r := range l.asking {
		if chat == "" || r.chat == chat {
			all = append(all, r)
		}
	}
	l.mu.Unlock()
	for _, r := range all {
		r.prompts.Load().Look(false)
	}
	if len(all) == 0 {
		return 0
	}
	return promptRound + time.Duration(len(all))*promptRest
}

// asks returns the poll for a member that waits for input, or none if it is not wanted
// or cannot be told.
func (r *record) asks(wanted bool) []poll {
	watch, now := r.prompts.Load(), true
	if !wanted || watch == nil {
		return nil
	}
	return []poll{func() (ends bool, pause time.Duration) {
		waits, next := watch.Look(now)
		now = false
		return waits, min(max(next, promptRound/10), promptRound) // another call may be looking
	}}
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
