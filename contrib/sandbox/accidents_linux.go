package sandbox

import (
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// accidents is the Level Accidents. One thread is kept that has the rules, and all
// commands are its children: so they share one domain of Landlock, and one command
// can signal what another has started.
type accidents struct {
	network Network
	dirs    []string // in which commands may write

	mu     sync.Mutex // guards the fields below; held while a thread is made
	thread *thread
	closed bool
}

// patience is how long a start waits for another one. That one may hang, as in a
// directory of a dead server.
const patience = 10 * time.Second

func newAccidents(b *Box) (enforcer, error) {
	switch {
	case len(b.policy.Protect) > 0:
		return nil, &lack{"Protect", "Landlock only ever adds rights, so it takes Level Boundary"}
	case len(b.policy.Hide) > 0:
		return nil, &lack{"Hide", "it takes Level Boundary"}
	}
	a := &accidents{network: b.policy.Network, dirs: outermost(append(slices.Clone(b.policy.Write), b.temp))}
	if _, err := a.current(); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *accidents) wrap(_ string, argv, environ []string) (wrapped, outer []string, err error) {
	return argv, environ, nil
}

func (a *accidents) hide(string) ([]string, error) {
	return nil, &lack{"Hide", "it takes Level Boundary"}
}

func (a *accidents) onThread(start func() error) error {
	for {
		t, err := a.current()
		if err != nil {
			return err
		}
		if begun, err := t.do(start, patience); begun {
			return err
		}
		a.drop(t)
	}
}

// current returns the thread that has the rules for the directories of now. Rules hold
// inodes. So if another directory has taken the place of one, another thread is made.
func (a *accidents) current() (*thread, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, procmgr.ErrClosed
	}
	fds, inodes, err := openAll(a.dirs)
	if err != nil {
		return nil, xerrors.Errorf("a directory in which commands may write cannot be used any more (%v): %w", err, procmgr.ErrInvalid)
	}
	defer closeAll(fds)
	if a.thread != nil && slices.Equal(a.thread.inodes, inodes) {
		return a.thread, nil
	}
	t, err := newThread(func() error { return restrict(fds, a.network) })
	if err != nil {
		return nil, err
	}
	t.inodes = inodes
	if a.thread != nil {
		a.thread.end()
	}
	a.thread = t
	return t, nil
}

// drop gives up a thread that hangs. It ends when it hangs no more.
func (a *accidents) drop(t *thread) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.thread == t {
		t.end()
		a.thread = nil
	}
}

func (a *accidents) close() error {
	a.mu.Lock()
	t := a.thread
	a.closed, a.thread = true, nil
	a.mu.Unlock()
	if t != nil {
		t.end()
		select {
		case <-t.gone:
		case <-time.After(patience): // a start hangs
		}
	}
	return nil
}

func openAll(dirs []string) (fds []int, inodes []inode, err error) {
	for _, dir := range dirs {
		fd, at, err := openExactly(dir, true)
		if err != nil {
			closeAll(fds)
			return nil, nil, err
		}
		fds, inodes = append(fds, fd), append(inodes, at)
	}
	return fds, inodes, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd) // nothing was written
	}
}
