package proclocal

import (
	"context"
	"log/slog"
	"math"
	"runtime"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// finish marks a process as exited and returns a snapshot of it. When anybody
// hears of the end, the process no longer counts as running.
func (l *Local) finish(r *record, end osproc.Exit, at time.Time) procmgr.Process {
	l.mu.Lock()
	l.table.exited(r)
	exited := r.turn(func(p *procmgr.Process) {
		r.leave(p, end)
		p.State, p.ExitedAt, p.MayLiveOn = procmgr.Exited, at, r.tree.Unsure()
	})
	l.happened(procmgr.EventExited, at, exited, "")
	delete(l.asking, r)
	l.exits = append(l.exits, r)
	l.mu.Unlock()
	runtime.Gosched() // a goroutine that waits for the result goes first
	return exited
}

// leave notes how the leader ended. The caller holds the record's mu.
func (r *record) leave(p *procmgr.Process, end osproc.Exit) {
	p.ExitCode = end.Code()
	p.Signal = end.SignalName()
	p.OOM = end.OOM
	p.EndedBy = causeOf(end)
	if r.asked != "" && !end.Lost {
		p.EndedBy = r.asked
	}
}

// gone tells the program that asked for the process that nothing is left of it, before
// anybody else hears of that.
func (r *record) gone(end osproc.Exit, at time.Time) {
	if r.origin == nil || r.origin.Ended == nil {
		return
	}
	p := clone(*r.shown.Load())
	r.mu.Lock()
	r.leave(&p, end)
	r.mu.Unlock()
	p.State, p.ExitedAt = procmgr.Exited, at
	r.origin.Ended(p)
}

// refused tells the program that asked for the process that nothing runs.
func (r *record) refused() {
	if r.origin != nil && r.origin.Refused != nil {
		r.origin.Refused()
	}
}

// causeOf tells why a process ended if no caller has asked for its end.
func causeOf(end osproc.Exit) procmgr.Cause {
	switch {
	case end.Lost:
		return procmgr.CauseLost
	case end.Signal != 0:
		return procmgr.CauseSignal
	}
	return procmgr.CauseExit
}

// watch follows a process to its end, and ends it if it runs for too long. Close waits
// for it.
func (l *Local) watch(r *record, lifetime time.Duration) {
	defer l.wg.Done()

	stop := func() bool { return false }
	if lifetime < math.MaxInt64 {
		l.wg.Add(1)
		stop = time.AfterFunc(lifetime, func() {
			defer l.wg.Done()
			l.outlived(r)
		}).Stop
	}
	end, at := r.tree.Follow(func(end osproc.Exit) { l.detach(r, end) })
	if stop() {
		l.wg.Done()
	}
	l.over(r, end, at)
}

// over notes that nothing is left of a process. It is apart from watch, whose stack has to
// be small as long as the process runs.
func (l *Local) over(r *record, end osproc.Exit, at time.Time) {
	r.lookForWithheld(end.Code())
	r.gone(end, at)
	exited := l.finish(r, end, at)
	l.mu.Lock()
	l.expire()
	l.mu.Unlock()
	l.opts.Metrics.Exited(exited.EndedBy, exited.Elapsed)
	r.tree.Release()
	r.log(slog.LevelInfo, "process exited", slog.String("ended_by", string(exited.EndedBy)), exitCode(exited.ExitCode))

	if r.told != nil {
		<-r.told
	}
	if f := l.opts.OnExit; f != nil {
		r.hook("OnExit", func() { f(exited) })
	}
}

// outlived ends a process that has reached its MaxLifetime.
func (l *Local) outlived(r *record) {
	if !r.ask(procmgr.CauseLifetime) {
		return
	}
	r.log(slog.LevelInfo, "process has reached its maximum lifetime")
	for _, left := range l.end(context.Background(), []*record{r}) {
		r.log(slog.LevelWarn, "not all of the process is gone", slog.String("error", left.String()))
	}
}

// detach notes that the leader has exited and other members live on.
func (l *Local) detach(r *record, end osproc.Exit) {
	r.lookForWithheld(end.Code())
	l.mu.Lock()
	detached := r.turn(func(p *procmgr.Process) {
		r.leave(p, end)
		p.State = procmgr.Detached
	})
	l.happened(procmgr.EventDetached, time.Now(), detached, "")
	l.mu.Unlock()
	r.log(slog.LevelInfo, "process detached", exitCode(end.Code()))
}
