package osproc

import (
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// settle is how long the end of the pipe, and of what the leader has left, is
// waited for after its exit: a pager behind "exec > >(cat)" has its last line to
// write, and a child that ends with the leader is not left behind by it.
const settle = 50 * time.Millisecond

// shared is what all trees of a System need.
type shared struct {
	null    *os.File // every leader's stdin
	oom     *oomCounter
	leaders leaders
	reading sync.WaitGroup // every tree's pipe.collect
}

// A Tree is a command and everything that it started. The leader is the
// command's own process.
type Tree struct {
	*shared
	session *session
	pipe    *pipe
	wanted  atomic.Bool // somebody has asked for the end
}

// PID is the leader's number.
func (t *Tree) PID() int { return t.session.pid }

// Sealed reports whether nothing can leave the tree unseen.
func (t *Tree) Sealed() bool { return t.session.sealed() }

// Want notes that somebody wants the tree to end. From then on, Follow believes
// in an end only after a look at all that has left the session.
func (t *Tree) Want() { t.wanted.Store(true) }

// Follow reads what the tree prints, and returns once nothing is left of it, or
// it is abandoned: how the leader exited, and when the last of the tree had
// gone. detached is called where the leader has exited and something lives on,
// before Follow waits for that. Follow is called once.
func (t *Tree) Follow(detached func(Exit)) (end Exit, at time.Time) {
	t.reading.Go(t.pipe.collect) // System.Close waits
	t.session.awaitLeader()
	at = time.Now()
	end = t.session.reap()
	if end.killed() && !t.wanted.Load() {
		end.OOM = t.oom.outOfMemory(t.session)
	}
	until := time.NewTimer(settle)
	defer until.Stop()
	t.finishReading(until)
	if !t.gone() || t.wanted.Load() {
		until.Reset(time.Until(at.Add(settle)))
		if t.outlive(func() { detached(end) }, until) {
			at = time.Now()
		}
	}
	t.session.empty.Store(true)
	t.leaders.remove(t.session)
	return end, at
}

// Release frees what is held of a tree that was followed to its end.
func (t *Tree) Release() {
	t.pipe.close()
	t.session.release()
}

// Abandon has whoever follows the tree return: what lives on is left alone.
func (t *Tree) Abandon() {
	t.pipe.close()
	t.session.abandon()
}

// finishReading reads what the pipe holds, which was written before the exit,
// and waits for the pipe's end until the timer fires.
func (t *Tree) finishReading(until *time.Timer) {
	if t.pipe.drain() {
		return
	}
	select {
	case <-t.pipe.eof:
		return
	case <-until.C:
	case <-t.session.done:
		return
	}
	// On a busy machine the end may be there, and whoever reads the pipe has not
	// had its turn.
	if t.pipe.drain() {
		return
	}
	// Where nothing of the session is left, another child of this program may
	// hold the pipe, which was forked while this process was started. On a busy
	// machine it can stand before its exec for long.
	if t.session.vacant(t.null) && forks.wait(t.session.done, 2*settle) && !t.pipe.drain() {
		until.Reset(settle)
		select {
		case <-t.pipe.eof:
		case <-until.C:
		case <-t.session.done:
		}
	}
}

// gone reports whether the pipe is at its end and the session's number names
// nothing, which costs no look at /proc.
func (t *Tree) gone() bool {
	select {
	case <-t.pipe.eof:
		return t.session.vacant(t.null)
	default:
		return false
	}
}

// outlive waits for what lives on after the leader, and reports whether that was
// anything. What ends before the timer fires was not left behind.
func (t *Tree) outlive(detach func(), until *time.Timer) (lived bool) {
	detached := false
	for empty := 0; ; {
		var members []member
		if !t.gone() {
			members = t.session.members()
		}
		held := false
		select {
		case <-t.session.done:
			closeMembers(members)
			return lived
		case <-t.pipe.eof:
		default:
			held = true
		}
		if len(members) == 0 && !held {
			// A fork and an exec can slip through one look, so that a second
			// one has to agree; what still has the number is a zombie then.
			if empty++; empty < 2 && !t.gone() {
				continue
			}
			if !detached && !t.wanted.Load() {
				return lived
			}
			// No start waits for this any more, and a kill wants to know.
			if members = t.escapees(); len(members) == 0 {
				return lived
			}
		}
		empty, lived = 0, true

		left := make(chan struct{})
		go func() { // waited for just below
			defer close(left)
			t.await(members)
		}()
		if !detached {
			select {
			case <-left:
			case <-until.C:
				detached = true
				detach()
			}
		}
		<-left
	}
}

// await waits until the members have gone, or without any, for the end of the
// pipe: then something has left the session and kept the pipe.
func (t *Tree) await(members []member) {
	if len(members) > 0 {
		t.session.await(members)
		return
	}
	select {
	case <-t.pipe.eof:
	case <-t.session.done:
	}
}

// escapees looks for what has left the session, by its cookie. Where it cannot
// look there is none.
func (t *Tree) escapees() []member {
	found, _ := escapees([]*session{t.session}, &t.leaders)
	return found[t.session]
}

// An Escaped is what was found of a tree that had ended: it had left its session.
type Escaped struct {
	tree    *Tree
	members []member
}

// Follow returns once nothing is left of it. It reports false where the tree was
// abandoned before.
func (e *Escaped) Follow() bool {
	for members := e.members; len(members) > 0; members = e.tree.escapees() {
		e.tree.session.await(members)
		select {
		case <-e.tree.session.done:
			return false
		default:
		}
	}
	return true
}

// Close lets go of it without a wait. e may be nil.
func (e *Escaped) Close() {
	if e != nil {
		closeMembers(e.members)
	}
}
