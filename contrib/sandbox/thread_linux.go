package sandbox

import (
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// A thread is a thread of this program that is restricted for ever, and runs functions
// one at a time. Package runtime makes no other thread out of it.
type thread struct {
	inodes []inode // of the directories in its rules
	work   chan func()
	over   chan struct{} // closed by end
	gone   chan struct{} // closed when the thread runs nothing any more
}

// newThread makes a thread by the function restrict. The goroutine of the thread ends,
// and the thread with it, after end.
func newThread(restrict func() error) (*thread, error) {
	t := &thread{work: make(chan func()), over: make(chan struct{}), gone: make(chan struct{})}
	failed := make(chan error, 1)
	go t.run(restrict, failed)
	if err := <-failed; err != nil {
		return nil, err
	}
	return t, nil
}

func (t *thread) run(restrict func() error, failed chan<- error) {
	runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
	if unix.Gettid() == os.Getpid() {
		// The first thread stands for the whole program. If it had the rules, commands
		// could trace and signal the program.
		other := make(chan error, 1)
		go t.run(restrict, other) // on another thread, while this one is locked
		failed <- <-other
		runtime.UnlockOSThread()
		return
	}
	defer close(t.gone)
	err := restrict()
	failed <- err
	if err != nil {
		return
	}
	for {
		select {
		case f := <-t.work:
			f()
		case <-t.over:
			return
		}
	}
}

// do runs f on the thread and returns its error. If the thread does not become free in
// time, f is not run, and begun is false.
func (t *thread) do(f func() error, patience time.Duration) (begun bool, err error) {
	done := make(chan error, 1)
	work := func() { done <- f() }
	select {
	case t.work <- work:
		return true, <-done
	default:
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case t.work <- work:
		return true, <-done
	case <-t.over:
	case <-timer.C:
	}
	return false, nil
}

// end is called once. The thread ends when it runs nothing any more.
func (t *thread) end() { close(t.over) }
