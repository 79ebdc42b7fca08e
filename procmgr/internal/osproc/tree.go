package osproc

import (
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// settle is how long Follow waits, after the leader's exit, for the end of the
// pipe and of the remaining members. A pager behind "exec > >(cat)" still has
// to write its last line. A child that ends together with the leader is not
// left behind.
const settle = 50 * time.Millisecond

// shared is the part of a System that all its trees need.
type shared struct {
	null     *os.File // the stdin of every leader
	oom      *oomCounter
	sessions searches
	reading  sync.WaitGroup // the goroutines that read the trees' pipes
	crew     crew
	poller   *poller // nil if the system has none
}

// A Tree is a command and everything that it started. Its leader is the process
// of the command itself.
type Tree struct {
	*shared
	session *session
	pipe    *pipe
	input   *Input      // nil if stdin is empty
	wanted  atomic.Bool // a caller has asked for the end
	reader  func()      // of readSome, which alone uses it; nil before the first output

	mu     sync.Mutex // guards exited
	exited func()     // of Watch; nil when it is called
}

// PID returns the leader's number.
func (t *Tree) PID() int { return t.session.pid }

// Sealed reports whether no member can leave the tree unseen.
func (t *Tree) Sealed() bool { return t.session.sealed() }

// Doubtful returns the live processes that may be members of the tree or of another
// manager's, and that are left alone: this program runs within a tree of another
// manager, they have the mark, and nothing else shows to whom they belong. The last
// search has found them. Only Linux has marks.
func (t *Tree) Doubtful() (pids []int) { return t.session.stillDoubtful() }

// Stopped reports whether the leader, a descendant of it or another member that
// is known is stopped by a signal. It makes no search. If TellsStopped is false,
// it returns false.
func (t *Tree) Stopped() bool { return t.session.stopped() }

// Want notes that a caller wants the tree to end. From then on, Follow believes
// in an end only after it has searched for members that have left the session.
func (t *Tree) Want() { t.wanted.Store(true) }

// Held reports whether a process may still hold the tree's stdout or stderr.
func (t *Tree) Held() bool {
	select {
	case <-t.pipe.eof:
		return false
	default:
		return true
	}
}

// Input returns this program's end of the tree's stdin, or nil if that is empty.
// It is closed when the tree is released or abandoned.
func (t *Tree) Input() *Input { return t.input }

// Watch reads the output of the tree from now on. When the leader has exited, or
// when the tree is abandoned, it calls exited in a goroutine of its own, once.
// exited calls Finish, and System.Close does not wait for it. Watch is called
// once.
func (t *Tree) Watch(exited func()) {
	t.mu.Lock()
	t.exited = exited
	t.mu.Unlock()
	t.watch()
}

// leaderExited calls exited in a goroutine. A second call does nothing.
func (t *Tree) leaderExited() {
	if exited := t.takeExited(); exited != nil {
		t.crew.run(exited)
	}
}

// takeExited returns exited the first time, and nil after that.
func (t *Tree) takeExited() (exited func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	exited, t.exited = t.exited, nil
	return exited
}

// collect reads the output in a goroutine, for which System.Close waits.
func (t *Tree) collect() { t.reading.Go(t.pipe.collect) }

// awaitLeader waits for the leader's exit in a goroutine. It ends with the leader,
// or when the tree is abandoned.
func (t *Tree) awaitLeader() {
	go func() {
		t.session.awaitLeader()
		t.leaderExited()
	}()
}

// Follow is Watch and Finish in one call, which waits.
func (t *Tree) Follow(detached func(Exit)) (end Exit, at time.Time) {
	exited := make(chan struct{})
	t.Watch(func() { close(exited) })
	<-exited
	return t.Finish(detached)
}

// Finish is called after the leader's exit. It returns when nothing is left of the
// tree, or when the tree is abandoned. It returns how the leader exited, and
// when the last member had gone. If the leader has exited and other members
// live on, Finish calls detached before it waits for them. Finish is called
// once.
func (t *Tree) Finish(detached func(Exit)) (end Exit, at time.Time) {
	at = time.Now()
	exit := t.reap()
	if !t.pipe.drain() || !t.gone() || t.wanted.Load() {
		timer := time.NewTimer(settle)
		defer timer.Stop()
		t.finishReading(timer)
		timer.Reset(time.Until(at.Add(settle)))
		if (!t.gone() || t.wanted.Load()) && t.outlive(func() { detached(exit) }, timer) {
			at = time.Now()
		}
	}
	t.session.empty.Store(true)
	t.sessions.remove(t.session)
	return exit, at
}

// reap reaps the leader, which has exited, and returns how.
func (t *Tree) reap() Exit {
	end := t.session.reap()
	if !t.wanted.Load() {
		end.OOM = t.oom.outOfMemory(t.session, end)
	}
	return end
}

// Release frees the resources of a tree that was followed to its end.
func (t *Tree) Release() {
	t.input.close()
	t.pipe.close()
	t.session.release()
}

// Abandon makes Finish return. Members that are still alive are left alone.
func (t *Tree) Abandon() {
	t.input.close()
	t.pipe.close()
	t.session.abandon()
	t.abandoned()
}

// finishReading reads the bytes that are in the pipe, which were written before
// the leader's exit. It then waits for the end of the pipe until the timer
// fires.
func (t *Tree) finishReading(timer *time.Timer) {
	if t.pipe.drain() {
		return
	}
	t.readOn()
	select {
	case <-t.pipe.eof:
		return
	case <-timer.C:
	case <-t.session.done:
		return
	}
	// On a busy machine the pipe may have ended before the goroutine that reads
	// it had its turn.
	if t.pipe.drain() {
		return
	}
	// If nothing of the session is left, another child of this program may hold
	// the pipe: a child that was forked while this tree was started. On a busy
	// machine it can take long before its exec.
	if t.session.vacant(t.null) && forks.wait(t.session.done, 2*settle) && !t.pipe.drain() {
		timer.Reset(settle)
		select {
		case <-t.pipe.eof:
		case <-timer.C:
		case <-t.session.done:
		}
	}
}

// gone reports whether the pipe has ended and the session's number names
// nothing any more. It needs no look at /proc.
func (t *Tree) gone() bool {
	return !t.Held() && t.session.vacant(t.null)
}

// outlive waits for the members that live on after the leader, and reports
// whether there were any. A member that ends before the timer fires was not
// left behind.
func (t *Tree) outlive(detach func(), timer *time.Timer) (lived bool) {
	detached := false
	for {
		select {
		case <-t.session.done:
			return lived
		default:
		}
		// As long as a caller of Start waits, only a look that costs little is
		// made.
		deep := detached || t.wanted.Load()
		var members []member
		settled := true
		if deep || !t.gone() {
			members, settled = t.look(deep)
		}
		held := t.Held()
		select {
		case <-t.session.done:
			closeMembers(members)
			return lived
		default:
		}
		if len(members) == 0 && !held && settled {
			if deep == (detached || t.wanted.Load()) {
				return lived
			}
			continue // a caller wants the end now, and has to know
		}
		lived = true

		left := make(chan struct{})
		go func() { // waited for just below
			defer close(left)
			t.await(members, held)
		}()
		for waiting := true; waiting && !detached; {
			select {
			case <-left:
				waiting = false
			case <-timer.C:
				// On a busy machine the members may have gone, and the goroutine that
				// waits for that may not have had a turn.
				if t.lives(deep) {
					detached = true
					detach()
				} else {
					timer.Reset(settle)
				}
			}
		}
		<-left
	}
}

// lives reports whether something is left at this moment. A member that await waits
// for may have left the session meanwhile, and a look that is not deep does not see it
// then.
func (t *Tree) lives(deep bool) bool {
	members, settled := t.look(deep)
	closeMembers(members)
	return len(members) > 0 || !settled || !t.pipe.drain() || t.session.awaits()
}

// lookAgain is how long a tree waits before it looks again for members that it
// may have missed.
const lookAgain = 100 * time.Millisecond

// await waits until the members have gone. If there are none, a member has left
// unseen: if one holds the pipe, await waits for the end of the pipe.
func (t *Tree) await(members []member, held bool) {
	if len(members) > 0 {
		t.session.await(members)
		return
	}
	if held {
		select {
		case <-t.pipe.eof:
		case <-t.session.done:
		}
		return
	}
	select {
	case <-time.After(lookAgain):
	case <-t.session.done:
	}
}

// look looks for live members. It reports false if it may have missed one. A
// deep look also reads environments.
func (t *Tree) look(deep bool) (members []member, settled bool) {
	found, settled := t.sessions.find([]*session{t.session}, deep)
	return found[t.session], settled
}

// An Escaped has the members of an ended tree that a search found alive. They
// had left their session.
type Escaped struct {
	tree    *Tree
	members []member
	missed  bool // there may be more of them
}

// Follow returns when none of the members is left. It reports false if the tree
// was abandoned before that.
func (e *Escaped) Follow() bool {
	members, settled := e.members, !e.missed
	for len(members) > 0 || !settled {
		e.tree.await(members, false)
		select {
		case <-e.tree.session.done:
			return false
		default:
		}
		members, settled = e.tree.look(true)
	}
	return true
}

// Close releases the members without a wait. e may be nil.
func (e *Escaped) Close() {
	if e != nil {
		closeMembers(e.members)
	}
}
