package proclocal

import (
	"log/slog"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
	"github.com/toolproc/toolproc/procmgr/proclocal/internal/retention"
)

// watch follows a process from its leader's exit to its end. Close waits for it.
func (l *Local) watch(r *record) {
	defer l.wg.Done()

	end, at := r.tree.Finish(func(end osproc.Exit) { l.detach(r, end) })
	if r.tree.IsFrozen() {
		return // another Local goes on with it
	}
	l.lookForWithheld(r, end.Code())
	r.ending(end, procmgr.Exited, at)
	exited := l.finish(r, end, at)
	l.afterExit(r)
	l.opts.Metrics.exited(exited)
	r.tree.Release()
	r.kept.dropped()
	r.log(slog.LevelInfo, "process exited", slog.String("ended_by", string(exited.EndedBy)), exitCode(exited.ExitCode))

	<-r.told
	if f := l.opts.OnExit; f != nil {
		r.hook("OnExit", func() { f(exited) })
	}
}

// detach notes that the leader has exited and other members live on.
func (l *Local) detach(r *record, end osproc.Exit) {
	l.lookForWithheld(r, end.Code())
	r.ending(end, procmgr.Detached, time.Time{})
	l.mu.Lock()
	r.mu.Lock()
	r.leave(end)
	r.turn(procmgr.Detached)
	detached := r.snapshot()
	r.mu.Unlock()
	l.happened(procmgr.EventDetached, time.Now(), detached, "")
	l.mu.Unlock()
	r.log(slog.LevelInfo, "process detached", exitCode(end.Code()))
}

// ending tells the Keep of the end of a leader, before anybody hears of the
// state. The process is then as the caller is about to show it.
func (r *record) ending(end osproc.Exit, to procmgr.State, at time.Time) {
	if r.kept == nil {
		return
	}
	r.mu.Lock()
	r.leave(end)
	p, withheld, asked := retention.Clone(r.process), r.withheld, r.asked
	r.mu.Unlock()
	p.State, p.ExitedAt = to, at
	r.kept.turned(func(m *memo) {
		m.Process, m.Withheld, m.Asked = p, withheld, asked
		m.Progress.Exit, m.Progress.Detached = &end, m.Progress.Detached || to == procmgr.Detached
		m.Total = r.out.Total()
	})
}
