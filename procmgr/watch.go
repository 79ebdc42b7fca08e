package procmgr

import (
	"log/slog"
	"time"
)

// settle is how long the end of the pipe, and of what the shell has left, is
// waited for after its exit: a pager behind "exec > >(cat)" has its last line to
// write, and a child that ends with the shell is not left behind by it.
const settle = 50 * time.Millisecond

// watch follows a process from its start to its end. told is closed once
// OnStart has returned. Close waits for it.
func (r *record) watch(told <-chan struct{}) {
	defer r.local.wg.Done()

	r.session.awaitLeader()
	at := time.Now()
	end := r.session.reap()
	if end.killed() && !r.wanted() {
		end.oom = r.outOfMemory()
	}
	until := time.NewTimer(settle)
	defer until.Stop()
	r.finishReading(until)
	if !r.gone() || r.wanted() {
		until.Reset(time.Until(at.Add(settle)))
		if r.outlive(end, until) {
			at = time.Now()
		}
	}
	r.session.empty.Store(true)
	exited := r.local.finish(r, end, at)
	r.local.opts.Metrics.exited(exited)
	r.pipe.close()
	r.session.release()
	r.log(slog.LevelInfo, "process exited", slog.String("ended_by", string(exited.EndedBy)), exitCode(exited.ExitCode))

	<-told
	if f := r.local.opts.OnExit; f != nil {
		r.local.hook("OnExit", r, func() { f(exited) })
	}
}

// finishReading reads what the pipe holds, which was written before the exit,
// and waits for the pipe's end until the timer fires.
func (r *record) finishReading(until *time.Timer) {
	if r.pipe.drain() {
		return
	}
	select {
	case <-r.pipe.eof:
		return
	case <-until.C:
	case <-r.session.done:
		return
	}
	// On a busy machine the end may be there, and whoever reads the pipe has not
	// had its turn.
	if r.pipe.drain() {
		return
	}
	// Where nothing of the session is left, another child of this program may
	// hold the pipe, which was forked while this process was started. On a busy
	// machine it can stand before its exec for long.
	if r.session.vacant(r.local.null) && forks.wait(r.session.done) && !r.pipe.drain() {
		until.Reset(settle)
		select {
		case <-r.pipe.eof:
		case <-until.C:
		case <-r.session.done:
		}
	}
}

// gone reports whether the pipe is at its end and the session's number names
// nothing, which costs no look at /proc.
func (r *record) gone() bool {
	select {
	case <-r.pipe.eof:
		return r.session.vacant(r.local.null)
	default:
		return false
	}
}

// outlive waits for what lives on after the shell, and reports whether that was
// anything. What ends before the timer fires was not left behind.
func (r *record) outlive(end exit, until *time.Timer) (lived bool) {
	detached := false
	for empty := 0; ; {
		var members []member
		if !r.gone() {
			members = r.session.members()
		}
		held := false
		select {
		case <-r.session.done:
			closeMembers(members)
			return lived
		case <-r.pipe.eof:
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
				return lived
			}
			// No start waits for this any more, and a kill wants to know.
			if members = r.escapees(); len(members) == 0 {
				return lived
			}
		}
		empty, lived = 0, true

		left := make(chan struct{})
		go func() { // waited for just below
			defer close(left)
			r.await(members)
		}()
		if !detached {
			select {
			case <-left:
			case <-until.C:
				detached = true
				r.detach(end)
			}
		}
		<-left
	}
}

// await waits until the members have gone, or without any, for the end of the
// pipe: then something has left the session and kept the pipe.
func (r *record) await(members []member) {
	if len(members) > 0 {
		r.session.await(members)
		return
	}
	select {
	case <-r.pipe.eof:
	case <-r.session.done:
	}
}

// escapees looks for what has left the session, by its cookie. Where it cannot
// look there is none.
func (r *record) escapees() []member {
	found, _ := escapees([]*session{r.session}, r.local.leaders())
	return found[r.session]
}

// leave notes how the shell ended. The caller holds mu.
func (r *record) leave(end exit) {
	r.process.ExitCode = end.exitCode()
	r.process.Signal = end.signalName()
	r.process.Usage = end.usage
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
	r.turned = time.Now()
	close(r.changed)
	r.changed = make(chan struct{})
}

// detach tells that the shell has exited and something lives on.
func (r *record) detach(end exit) {
	r.mu.Lock()
	r.leave(end)
	r.turn(Detached)
	r.mu.Unlock()
	r.log(slog.LevelInfo, "process detached", exitCode(end.exitCode()))
}

// exitCode is the attribute of a log line; a handler drops the empty one.
func exitCode(code *int) slog.Attr {
	if code == nil {
		return slog.Attr{}
	}
	return slog.Int("exit_code", *code)
}
