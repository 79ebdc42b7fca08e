package prompt

import (
	"sync"
	"syscall"
	"time"
)

// Supported reports whether a Reader can tell anything on this system.
const Supported = true

// A Reader looks at the processes that read from a terminal or a pipe. Its zero value
// has not looked yet.
type Reader struct {
	mu    sync.Mutex // held by the one that looks; guards the fields below
	place *Place
}

// patience is how long a look is waited for. A process can make the system wait when
// its memory is read.
const patience = 100 * time.Millisecond

// Waits returns the process that waits for input, among the given ones and the
// processes they have started. conn is the other end of what they read. Waits returns nil
// if none waits or if that is unknown.
//
// Waits gives up a look that takes longer than patience. The look ends with the process
// that delays it, and until then there is no other look.
func (r *Reader) Waits(conn syscall.RawConn, terminal bool, mode func() (Mode, bool), pids func() []int) *Found {
	if !r.mu.TryLock() {
		return nil
	}
	if r.place == nil {
		_ = conn.Control(func(fd uintptr) {
			if p, err := PlaceOf(int(fd), terminal); err == nil {
				r.place = &p
			}
		})
	}
	now, ok := mode()
	if r.place == nil || !ok {
		r.mu.Unlock()
		return nil
	}
	all, done := pids(), make(chan *Found, 1)
	go func() { // waited for below, unless it takes too long
		defer r.mu.Unlock()
		found := r.place.At(all, now)
		if after, ok := mode(); !ok || after != now {
			found = nil // a program has set it meanwhile, such as the echo, and waits since
		}
		done <- found
	}()
	over := time.NewTimer(patience)
	defer over.Stop()
	select {
	case found := <-done:
		return found
	case <-over.C:
		return nil
	}
}
