package osproc

import (
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// A poller waits for the descriptors of all trees of a System: for the pidfds of
// their leaders and for their pipes. One goroutine of the crew waits, which Go's own
// poller wakes, so that a process that does nothing costs no goroutine.
type poller struct {
	file  *os.File      // the epoll instance, in Go's poller
	fd    int           // of file
	crew  *crew         // the System's
	ended chan struct{} // closed when nobody waits any more
	full  bool          // watch takes nothing

	mu     sync.Mutex // guards the fields below; held for moments
	closed bool       // fd is
	last   uint64
	all    map[uint64]*polled // by the number that the kernel returns with an event
}

// newPoller starts a poller, which is full from the beginning if full is set.
// close waits for its goroutine.
func newPoller(full bool, c *crew) (*poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	p := &poller{file: pollable(fd, "epoll"), fd: fd, crew: c, full: full, ended: make(chan struct{}), all: make(map[uint64]*polled)}
	c.run(p.serve)
	return p, nil
}

func (p *poller) close() {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.file.Close()
	<-p.ended
}

// serve waits until a leader has exited, lets another goroutine wait for the next
// one, and calls the function that the leader's tree has from Watch. So the goroutine
// that the kernel has woken wakes the caller who waits for the tree: another one in
// between costs some 30 µs.
func (p *poller) serve() {
	exited := p.run()
	if exited == nil {
		close(p.ended)
		return
	}
	p.crew.run(p.serve)
	exited()
}

// run waits for events until a leader has exited, and returns the function that its
// tree has from Watch. It returns nil if the poller is closed.
func (p *poller) run() (exited func()) {
	conn, err := p.file.SyscallConn()
	if err != nil {
		return nil // it is closed already
	}
	var events [64]unix.EpollEvent
	for exited == nil {
		n := 0
		if conn.Read(func(fd uintptr) bool {
			err := error(unix.EINTR)
			for err == unix.EINTR {
				n, err = unix.EpollWait(int(fd), events[:], 0)
			}
			return n > 0 // or Go's poller tells of the next event
		}) != nil {
			return nil
		}
		exited = p.tell(events[:n])
	}
	return exited
}

// A watcher is told of the events of a tree.
type watcher interface {
	// leaderTold is called when the pidfd of the leader is readable. The caller
	// calls exited, unless it is nil.
	leaderTold(d *polled) (exited func())
	// readSome is called when the pipe is readable. It does not wait.
	readSome(d *polled)
}

// tell tells the trees of their events. If the leader of a tree has exited, Finish
// reads its pipe. The caller calls exited, which is for one of these trees, unless
// it is nil.
func (p *poller) tell(events []unix.EpollEvent) (exited func()) {
	var ending []watcher
	for _, e := range events {
		if f := p.find(e); f != nil && f.leader {
			ending = append(ending, f.tree)
			if next := f.tree.leaderTold(f); exited == nil {
				exited = next
			} else if next != nil {
				p.crew.run(next)
			}
		}
	}
	for _, e := range events {
		if f := p.find(e); f != nil && !f.leader && !slices.Contains(ending, f.tree) {
			f.tree.readSome(f)
		}
	}
	return exited
}

// find returns the descriptor that an event is about, or nil if it is closed.
func (p *poller) find(e unix.EpollEvent) *polled {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all[uint64(uint32(e.Pad))<<32|uint64(uint32(e.Fd))]
}

// A polled owns a descriptor that does not block and is not in Go's poller. It
// closes the descriptor when nobody uses it any more.
type polled struct {
	poller *poller // nil until watch
	number uint64
	tree   watcher
	leader bool // it is the pidfd of the tree's leader, and not its pipe

	mu     sync.Mutex // guards the fields below; held for moments
	fd     int
	users  int
	closed bool
}

// Control calls f with the descriptor. If that is closed, or if d is nil, it
// returns os.ErrClosed.
func (d *polled) Control(f func(fd uintptr)) error {
	if !d.hold() {
		return os.ErrClosed
	}
	defer d.release()
	f(uintptr(d.fd))
	return nil
}

// hold keeps the descriptor open until release. It reports false if it is closed,
// or if there is none.
func (d *polled) hold() bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	d.users++
	return true
}

func (d *polled) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.users--
	d.tryClose()
}

// Close closes the descriptor, or lets its last user do that.
func (d *polled) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.closed = true
		d.tryClose()
	}
	return nil
}

// tryClose closes the descriptor if that is due. The caller holds mu.
func (d *polled) tryClose() {
	if !d.closed || d.users > 0 {
		return
	}
	if d.poller != nil {
		d.poller.forget(d)
	}
	unix.Close(d.fd)
}

// watch lets the poller tell the tree of events. It reports false if the kernel
// has no room for that, or if the descriptor is closed: a tree can be abandoned
// at any time.
func (p *poller) watch(d *polled, t watcher) bool {
	return !p.full && p.enter(d, t) && d.ctl(unix.EPOLL_CTL_ADD)
}

func (p *poller) enter(d *polled, t watcher) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	d.poller, d.number, d.tree = p, p.last, t
	p.all[d.number] = d
	return true
}

// forget undoes watch. A child between its fork and its exec has a copy of the
// descriptor, so that to close it alone would end nothing.
func (p *poller) forget(d *polled) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, d.number)
	if !p.closed {
		_ = unix.EpollCtl(p.fd, unix.EPOLL_CTL_DEL, d.fd, nil)
	}
}

// again lets the poller tell of the next event. It tells of each descriptor once,
// so that a process that prints much wakes nobody while it is read.
func (d *polled) again() {
	if d.poller != nil {
		d.ctl(unix.EPOLL_CTL_MOD)
	}
}

func (d *polled) ctl(op int) bool {
	if !d.hold() {
		return false
	}
	defer d.release()
	p := d.poller
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT, Fd: int32(uint32(d.number)), Pad: int32(uint32(d.number >> 32))}
	return unix.EpollCtl(p.fd, op, d.fd, &e) == nil
}

// exited reports whether the leader whose pidfd this is can be reaped. With
// WNOHANG it does not wait for that.
func (d *polled) exited(options int) bool {
	if !d.hold() {
		return false
	}
	defer d.release()
	return waitForExit(unix.P_PIDFD, d.fd, options) != unix.EAGAIN
}

// await waits for an event in a thread, until f reports that there will be no
// more, or until the descriptor is closed. It is for a kernel that has no room
// for another descriptor in an epoll instance.
func (d *polled) await(f func() (more bool)) {
	for more := true; more; {
		if d.Control(func(fd uintptr) {
			fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			if n, _ := unix.Poll(fds, 1000); n == 0 { // so that the descriptor can be closed
				return
			}
			more = f()
		}) != nil {
			return
		}
	}
}
