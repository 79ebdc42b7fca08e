package osproc

import (
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr/internal/waiting"
)

// readers is what is known of the processes that read from a terminal or a pipe.
type readers struct {
	mu    sync.Mutex // held by the one that looks; guards the fields below
	place *waiting.Place
	last  *waiting.Look
}

// lookPatience is how long a look is waited for. A process can make the system wait
// when its memory is read.
const lookPatience = 100 * time.Millisecond

// waits looks whether one of some processes waits for input, or something that they
// have started. conn is the other end of what they read. mode and pids are called
// unless the last look still holds. waits returns nil if none waits or if nobody can tell.
//
// Nobody waits for a look that takes longer than lookPatience. It ends with the process
// that keeps it, and until then there is no other look.
func (r *readers) waits(conn syscall.RawConn, terminal bool, mode func() (waiting.Mode, bool), pids func() []int) *waiting.Found {
	if !r.mu.TryLock() {
		return nil
	}
	if r.last != nil && r.last.Lasts() {
		defer r.mu.Unlock()
		return r.last.Found
	}
	if r.place == nil {
		_ = conn.Control(func(fd uintptr) {
			if p, err := waiting.PlaceOf(int(fd), terminal); err == nil {
				r.place = &p
			}
		})
	}
	now, ok := mode()
	if r.place == nil || !ok {
		r.mu.Unlock()
		return nil
	}
	all, done := pids(), make(chan *waiting.Found, 1)
	go func() {
		defer r.mu.Unlock()
		r.last = r.place.At(all, now)
		if after, ok := mode(); !ok || after != now {
			// A program has set it meanwhile, such as the echo, and waits since.
			r.last = nil
			done <- nil
			return
		}
		done <- r.last.Found
	}()
	over := time.NewTimer(lookPatience)
	defer over.Stop()
	select {
	case found := <-done:
		return found
	case <-over.C:
		return nil
	}
}

// foreground returns the group of processes in the foreground of a terminal.
func foreground(conn syscall.RawConn) (group int, ok bool) {
	_ = conn.Control(func(fd uintptr) {
		var err error
		group, err = unix.IoctlGetInt(int(fd), unix.TIOCGPGRP)
		ok = err == nil && group > 0
	})
	return group, ok
}
