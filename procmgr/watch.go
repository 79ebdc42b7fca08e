package procmgr

import (
	"log/slog"

	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// watch follows a process from its start to its end. told is closed when
// OnStart has returned. Close waits for watch.
func (l *Local) watch(r *record, told <-chan struct{}) {
	defer l.wg.Done()

	end, at := r.tree.Follow(r.detach)
	r.lookForWithheld(end.Code())
	exited := l.finish(r, end, at)
	l.afterExit(r)
	l.opts.Metrics.exited(exited)
	r.tree.Release()
	r.log(slog.LevelInfo, "process exited", slog.String("ended_by", string(exited.EndedBy)), exitCode(exited.ExitCode))

	<-told
	if f := l.opts.OnExit; f != nil {
		r.hook("OnExit", func() { f(exited) })
	}
}

// detach notes that the leader has exited and other members live on.
func (r *record) detach(end osproc.Exit) {
	r.lookForWithheld(end.Code())
	r.mu.Lock()
	r.leave(end)
	r.turn(Detached)
	r.mu.Unlock()
	r.log(slog.LevelInfo, "process detached", exitCode(end.Code()))
}
