package procmgr

import (
	"runtime"
	"time"

	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// finish tells that nothing is left of a process. By the time that anybody
// hears of it, it no longer counts as running.
// It returns the process as it was then.
func (l *Local) finish(r *record, end osproc.Exit, at time.Time) Process {
	l.mu.Lock()
	exited := l.over(r, at, func() { r.leave(end) })
	r.unswept = !r.tree.Sealed()
	l.mu.Unlock()
	runtime.Gosched() // who waits for the result goes first
	return exited
}

// over turns a record to exited. The caller holds mu.
func (l *Local) over(r *record, at time.Time, note func()) Process {
	l.chats.ended(r)
	r.mu.Lock()
	note()
	r.process.ExitedAt = at
	r.turn(Exited)
	exited := r.withLog(r.process.clone())
	r.mu.Unlock()
	r.exit = l.exits.PushBack(r)
	return exited
}

// leave notes how the shell ended. The caller holds mu.
func (r *record) leave(end osproc.Exit) {
	r.process.ExitCode = end.Code()
	r.process.Signal = end.SignalName()
	if end.Usage != nil {
		r.process.Usage = Usage(*end.Usage)
	}
	r.process.OOM = end.OOM
	r.process.EndedBy = causeOf(end)
	if r.asked != "" && !end.Lost {
		r.process.EndedBy = r.asked
	}
}

// causeOf tells why a process ended, where nobody had asked for it.
func causeOf(end osproc.Exit) Cause {
	switch {
	case end.Lost:
		return CauseLost
	case end.Signal != 0:
		return CauseSignal
	}
	return CauseExit
}
