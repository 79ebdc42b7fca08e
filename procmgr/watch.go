package procmgr

import (
	"log/slog"
	"time"

	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// watch follows a process from its start to its end. told is closed once
// OnStart has returned. Close waits for it.
func (r *record) watch(told <-chan struct{}) {
	defer r.local.wg.Done()

	end, at := r.tree.Follow(r.detach)
	exited := r.local.finish(r, end, at)
	r.local.opts.Metrics.exited(exited)
	r.tree.Release()
	r.log(slog.LevelInfo, "process exited", slog.String("ended_by", string(exited.EndedBy)), exitCode(exited.ExitCode))

	<-told
	if f := r.local.opts.OnExit; f != nil {
		r.local.hook("OnExit", r, func() { f(exited) })
	}
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

// turn moves the process to another state and wakes who waits for that. The
// caller holds mu.
func (r *record) turn(to State) {
	r.process.State = to
	r.turned = time.Now()
	close(r.changed)
	r.changed = make(chan struct{})
}

// detach tells that the shell has exited and something lives on.
func (r *record) detach(end osproc.Exit) {
	r.mu.Lock()
	r.leave(end)
	r.turn(Detached)
	r.mu.Unlock()
	r.log(slog.LevelInfo, "process detached", exitCode(end.Code()))
}

// exitCode is the attribute of a log line; a handler drops the empty one.
func exitCode(code *int) slog.Attr {
	if code == nil {
		return slog.Attr{}
	}
	return slog.Int("exit_code", *code)
}
