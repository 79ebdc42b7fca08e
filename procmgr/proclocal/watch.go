package proclocal

import (
	"log/slog"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// watch follows a process to its end. Close waits for it.
func (l *Local) watch(r *record) {
	defer l.wg.Done()

	end, at := r.tree.Follow(func(end osproc.Exit) { l.detach(r, end) })
	r.lookForWithheld(end.Code())
	r.gone(end, at)
	exited := l.finish(r, end, at)
	l.mu.Lock()
	l.expire()
	l.mu.Unlock()
	l.opts.Metrics.exited(exited)
	r.tree.Release()
	r.log(slog.LevelInfo, "process exited", slog.String("ended_by", string(exited.EndedBy)), exitCode(exited.ExitCode))

	<-r.told
	if f := l.opts.OnExit; f != nil {
		r.hook("OnExit", func() { f(exited) })
	}
}

// detach notes that the leader has exited and other members live on.
func (l *Local) detach(r *record, end osproc.Exit) {
	r.lookForWithheld(end.Code())
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
