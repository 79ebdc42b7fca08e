package osproc

import (
	"sync"
	"syscall"
	"time"
)

const (
	// settle is how long Follow waits, after the leader's exit, for the end of the
	// pipe and of the remaining members. A pager behind "exec > >(cat)" still has
	// to write its last line. A child that ends together with the leader is not
	// left behind.
	settle = 50 * time.Millisecond
	// mostSearching is how long Follow searches for members on a machine that is so busy
	// that it cannot be told if there are any. Then they are said to live on.
	mostSearching = 2 * time.Second
	// lookAgain is how long Follow waits before it looks again for members that it
	// may have missed.
	lookAgain = 100 * time.Millisecond
)

// A Tree is a command and everything that it started. Its leader is the process
// of the command itself.
type Tree struct {
	system  *System
	session *session
	pipe    *pipe
	input   *Input // nil if stdin is empty
	closing sync.Once
}

// PID returns the leader's number.
func (t *Tree) PID() int { return t.session.pid }

// Unsure reports whether a member may have escaped: it could not be marked in time,
// or nothing can be looked for. It never is if each tree has a cgroup.
func (t *Tree) Unsure() bool { return t.session.unsure() || t.system.Blind() != nil }

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

// Follow reads the output of the tree and returns once nothing is left of the tree, or
// once it is abandoned. It returns how the leader exited, and when the last member had
// gone. If the leader exits before other members, Follow calls detached before it waits
// for them. It is called once.
//
// The leader is reaped only once the processes it left behind are known: until then its
// number, which is also the number of the session and the group, cannot be reused.
func (t *Tree) Follow(detached func(Exit)) (end Exit, at time.Time) {
	t.system.reading.Go(t.pipe.collect) // System.Close waits for it
	if !t.session.awaitExit() {
		return Exit{Lost: true}, time.Now()
	}
	at = time.Now()
	exited, until := at, at.Add(settle) // until is zero when detached was called
	forking := true                     // a child of this program that has not reached its exec may hold the pipe
	for {
		t.pipe.drain()
		members, settled := t.look()
		ended := t.pipe.drain()
		select {
		case <-t.session.done:
			closeMembers(members)
			if !until.IsZero() { // detached was not told
				end = t.session.reap()
			}
			return end, time.Now()
		default:
		}
		switch {
		case len(members) == 0 && ended && settled:
			if !until.IsZero() {
				end = t.session.reap()
			}
			return end, at
		case until.IsZero() || time.Now().Before(until):
		case len(members) == 0 && ended && time.Since(exited) < mostSearching:
		case len(members) == 0 && settled && forking:
			forking = false
			t.awaitForks()
			until = time.Now().Add(settle)
		default:
			end = t.session.reap()
			detached(end)
			until = time.Time{}
		}
		t.await(members, ended, until)
		at = time.Now()
	}
}

// look looks for live members. It reports false if it may have missed one. A blind
// System cannot look: then a tree ends with its leader and its pipe.
func (t *Tree) look() (members []member, settled bool) { return t.system.searches.find(t.session) }

// await waits until the members have gone, and at most until a time that is not
// zero. If there are none, a member has left unseen: if one holds the pipe, await
// waits for the end of the pipe.
func (t *Tree) await(members []member, ended bool, until time.Time) {
	if len(members) > 0 {
		t.session.await(members, until)
		return
	}
	wait := lookAgain
	if !until.IsZero() {
		wait = min(wait, max(time.Until(until), settle/10))
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	over := timer.C
	if !ended && until.IsZero() {
		over = nil
	}
	eof := t.pipe.eof
	if ended {
		eof = nil
	}
	select {
	case <-eof:
	case <-over:
	case <-t.session.done:
	}
}

// awaitForks waits until the forks that are under way in this program have reached
// their exec. Until then a child has a copy of every descriptor, and on a busy
// machine that can take long.
func (t *Tree) awaitForks() {
	for !syscall.ForkLock.TryRLock() {
		select {
		case <-t.session.done:
			return
		case <-time.After(time.Millisecond):
		}
	}
	syscall.ForkLock.RUnlock()
}

// Release frees the resources of a tree that was followed to its end.
func (t *Tree) Release() {
	t.input.close()
	t.pipe.close()
	t.session.release()
}

// Abandon makes Follow return. Members that are still alive are left alone.
func (t *Tree) Abandon() {
	t.closing.Do(func() { close(t.session.done) })
	t.Release()
}
