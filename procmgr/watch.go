package procmgr

import (
	"log/slog"
	"time"
)

// settle is how long the pipe's end is waited for after the shell's exit: a
// pager behind "exec > >(cat)" has its last line to write, and any other child
// of this program holds the pipe for a moment between its fork and its exec.
const settle = 50 * time.Millisecond

// watch follows a process from its start to its end. Close waits for it.
func (r *record) watch() {
	defer r.local.wg.Done()

	r.session.awaitLeader()
	at := time.Now()
	end := r.session.reap()
	if end.killed() && !r.wanted() {
		end.oom = r.outOfMemory()
	}

	// What the pipe holds now was written before the exit.
	if !r.pipe.drain() {
		wait := time.NewTimer(settle)
		select {
		case <-r.pipe.eof:
		case <-wait.C:
		case <-r.session.done:
		}
		wait.Stop()
	}
	if !r.gone() || r.wanted() {
		if r.outlive(end) {
			at = time.Now()
		}
	}
	r.session.empty.Store(true)
	r.local.finish(r, end, at)
	r.pipe.close()
	r.session.release()

	exited := r.snapshot()
	r.log(slog.LevelInfo, "process exited", slog.String("ended_by", string(exited.EndedBy)), slog.Any("exit_code", exited.ExitCode))
	r.local.hook("OnExit", r, func() {
		if f := r.local.opts.OnExit; f != nil {
			f(exited)
		}
	})
}

// gone reports whether the pipe is at its end and the session's number names
// nothing, which costs no look at /proc.
func (r *record) gone() bool {
	select {
	case <-r.pipe.eof:
	default:
		return false
	}
	return r.session.vacant(r.local.null)
}

// outlive waits for what the shell has left behind, and reports whether that
// was anything that lived.
func (r *record) outlive(end exit) (detached bool) {
	empty := 0
	for {
		members := r.session.members()
		held := false
		select {
		case <-r.pipe.eof:
		case <-r.session.done:
			closeMembers(members)
			return detached
		default:
			held = true
		}
		if len(members) == 0 && !held {
			// A fork and an exec can slip through one look, so that a second
			// one has to agree; what still has the number is a zombie then.
			if empty++; empty < 2 && !r.gone() {
				continue
			}
			if !detached && !r.wanted() {
				return false
			}
			// No start waits for this any more, and a kill wants to know.
			if members = r.escapees(); len(members) == 0 {
				return detached
			}
		}
		empty = 0
		if !detached {
			detached = true
			r.detach(end)
		}
		if len(members) > 0 {
			r.session.await(members)
			continue
		}
		// It left the session and kept the pipe.
		select {
		case <-r.pipe.eof:
		case <-r.session.done:
		}
	}
}

// escapees looks for what has left the session, by its cookie.
func (r *record) escapees() []member {
	return escapees([]*session{r.session}, r.local.leaders())[r.session]
}

// leave notes how the shell ended. The caller holds mu.
func (r *record) leave(end exit) {
	r.process.ExitCode = end.exitCode()
	r.process.Signal = end.signalName()
	r.process.Usage = clone(end.usage)
	r.process.OOM = end.oom
	r.process.EndedBy = end.cause()
	if r.asked != "" && !end.lost {
		r.process.EndedBy = r.asked
	}
}

// turn moves the process to another state and wakes who waits for that. The
// caller holds mu.
func (r *record) turn(to State) {
	r.process.State = to
	close(r.changed)
	r.changed = make(chan struct{})
}

// detach tells that the shell has exited and something lives on.
func (r *record) detach(end exit) {
	r.mu.Lock()
	r.leave(end)
	r.turn(Detached)
	r.mu.Unlock()
	r.log(slog.LevelInfo, "process detached", slog.Any("exit_code", end.exitCode()))
}
