//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package osproc

import (
	"os"

	"golang.org/x/sys/unix"
)

// An Adoption is a tree that another program has started, or another System of
// this one.
type Adoption struct {
	Lineage
	Progress
	Ended  bool // Follow has returned, or nothing is to be followed
	Wanted bool // as Tree.Want
	Killed bool // SIGKILL was sent: each member that is found is killed at once

	// Await returns how the leader has exited, if it is another program's child
	// that has not. It reports false if nobody knows, or if stop is closed.
	Await func(stop <-chan struct{}) (Exit, bool)

	// Sink gets the output from now on. If Output is negative, nobody can read it
	// any more, or its end has come; End of the Sink is then not called.
	Sink          Sink
	Output, Input int // descriptors to take over; Input is negative if there is none
	Stdin         Stdin
	Keeper        Keeper
}

// Adopt returns a tree that another program has started. Its output is not read
// before Follow.
func (s *System) Adopt(a Adoption) *Tree {
	p := endedPipe(a.Sink)
	if a.Output >= 0 {
		p = newPipe(uintptr(a.Output), reader{}, a.Sink)
	}
	t := &Tree{shared: &s.shared, pipe: p, keeper: a.Keeper, progress: a.Progress}
	switch {
	case a.Stdin == StdinTerminal && p.file != nil, a.Stdin == StdinPipe && a.Input >= 0:
		t.input = (&stdio{kind: a.Stdin, input: a.Input}).newInput(p)
	case a.Stdin != StdinEmpty:
		gone := make(chan struct{})
		close(gone)
		t.input = &Input{terminal: a.Stdin == StdinTerminal, gone: gone}
	}
	t.wanted.Store(a.Wanted)
	t.session = adoptSession(&a, p.file, s.lacks.pidfd)
	if !a.Ended {
		s.leaders.add(t.session)
	}
	return t
}

// endedPipe returns a pipe that has ended.
func endedPipe(out Sink) *pipe {
	p := &pipe{out: out, ended: true, eof: make(chan struct{})}
	close(p.eof)
	return p
}

// Frozen has what is left of a tree that was frozen, for its Adoption.
type Frozen struct {
	Progress
	Killed bool
	// Output and Input are duplicates of the tree's descriptors; negative if
	// there is none. OutputEnded reports that End of the Sink was called.
	Output, Input int
	OutputEnded   bool
}

// Freeze makes Follow return, and stops reading between two pieces of output:
// what comes after it is left for who adopts the tree. Its members are left
// alone. When Follow has returned, the caller calls Left.
func (t *Tree) Freeze() (f Frozen) {
	t.frozen.Store(true)
	f.Output, f.OutputEnded = t.pipe.freeze()
	f.Input = -1
	if t.input != nil && !t.input.terminal {
		f.Input = duplicate(t.input.file)
	}
	t.Abandon()
	return f
}

// Left completes what Freeze has returned, when Follow has returned.
func (t *Tree) Left(f *Frozen) {
	f.Progress = t.progress
	f.Killed = t.session.wasKilled()
}

// freeze stops reading, and returns a duplicate of the read end. It reports true
// if the output has ended.
func (p *pipe) freeze() (fd int, ended bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return -1, true
	}
	p.ended = true
	return duplicate(p.file), false
}

// duplicate returns another descriptor of a file, or -1.
func duplicate(file *os.File) int {
	fd := -1
	conn, err := file.SyscallConn()
	if err != nil {
		return -1
	}
	_ = conn.Control(func(own uintptr) { // fails only if the file is closed
		if fd, err = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0); err != nil {
			fd = -1
		}
	})
	return fd
}
