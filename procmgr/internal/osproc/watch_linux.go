package osproc

import "golang.org/x/sys/unix"

// watch lets the System's poller tell of output and of the leader's exit. It
// takes goroutines for the descriptors that the poller cannot watch.
func (t *Tree) watch() {
	if d, ok := t.pipe.end.(*polled); !ok {
		t.collect()
	} else if !t.poller.watch(d, t) {
		t.reading.Go(func() { // System.Close waits
			d.await(func() bool { return t.pipe.readAll(uintptr(d.fd)) })
			t.pipe.finish()
		})
	}
	switch s := t.session; {
	case s.leader == nil:
		t.awaitLeader()
	default:
		t.watchLeader(s.leader)
	}
	select {
	case <-t.session.done:
		t.leaderExited()
	default:
	}
}

// watchLeader waits for the leader's exit by its pidfd.
func (t *Tree) watchLeader(d *polled) {
	if !t.poller.watch(d, t) {
		go func() { // ends with the leader, or when the tree is abandoned
			d.await(func() bool { return !readable(d.fd) })
			if exited := t.leaderTold(d); exited != nil {
				exited()
			}
		}()
	}
}

// leaderTold is called when the leader's pidfd is readable: all threads of the
// leader have exited. It returns exited, which the caller calls unless it is nil.
// If a stranger traces the leader, it exits for its tracer first.
func (t *Tree) leaderTold(d *polled) (exited func()) {
	if d.exited(unix.WNOHANG) {
		return t.takeExited()
	}
	go func() { // ends when the tracer lets go of the leader
		d.exited(0)
		t.leaderExited()
	}()
	return nil
}

// abandoned makes the tree's poller tell of nothing any more.
func (t *Tree) abandoned() {
	t.leaderExited()
	if _, ok := t.pipe.end.(*polled); ok {
		t.reading.Go(t.pipe.finish)
	}
}

// readSome reads the bytes that are in the pipe, in a goroutine for which
// System.Close waits. The poller calls it once until it is to tell of the next output.
func (t *Tree) readSome(d *polled) {
	if t.reader == nil {
		t.reader = func() {
			defer t.reading.Done()
			if t.readAll(d) {
				d.again()
			}
		}
	}
	t.reading.Add(1)
	t.crew.run(t.reader)
}

func (t *Tree) readAll(d *polled) (more bool) {
	if !d.hold() {
		return false
	}
	defer d.release()
	return t.pipe.readAll(uintptr(d.fd))
}

// readOn lets the poller tell of output again, after it has told of the leader's
// exit.
func (t *Tree) readOn() {
	if d, ok := t.pipe.end.(*polled); ok {
		d.again()
	}
}
