//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package osproc

import (
	"time"

	"golang.org/x/sys/unix"
)

// An Adoption is a tree that another program has started, or another System of
// this one.
type Adoption struct {
	Lineage
	Progress
	Ended  bool // Finish has returned, or nothing is to be followed
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
// before Watch.
func (s *System) Adopt(a Adoption) *Tree {
	if !Adopts && a.Exit == nil {
		a.Progress = Progress{Exit: &Exit{Lost: true}, At: time.Now()}
	}
	p := endedPipe(a.Sink)
	if a.Output >= 0 {
		p = (&stdio{kind: a.Stdin, output: a.Output}).newOutput(a.Sink)
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
	t.session = adoptSession(&a, p.end, s.lacks.pidfd)
	if !a.Ended {
		s.sessions.add(t.session)
	}
	return t
}

// endedPipe returns a pipe that has ended.
func endedPipe(out Sink) *pipe {
	p := &pipe{end: noEnd{}, out: out, ended: true, eof: make(chan struct{})}
	close(p.eof)
	return p
}

// Frozen is the rest of a tree that was frozen, for its Adoption.
type Frozen struct {
	Progress
	Killed bool
	// Output and Input are duplicates of the tree's descriptors; negative if
	// there is none. OutputEnded reports that End of the Sink was called.
	Output, Input int
	OutputEnded   bool
}

// Freeze makes Finish return, and stops reading between two pieces of output:
// the program that adopts the tree reads the output after it. Its members are left
// alone. When Finish has returned, the caller calls Left.
func (t *Tree) Freeze() (f Frozen) {
	t.frozen.Store(true)
	f.Output, f.OutputEnded = t.pipe.freeze()
	f.Input = -1
	if t.input != nil && !t.input.terminal {
		f.Input = duplicate(t.input.conn)
	}
	t.Abandon()
	return f
}

// Left completes the Frozen of Freeze, when Finish has returned.
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
	return duplicate(p.end), false
}

// EndOutput ends the output of an adopted tree that nobody can read any more. It
// is called before Watch.
func (t *Tree) EndOutput() { t.pipe.out.End() }

// Settle waits until nothing is read any more. Every tree is frozen or has ended.
func (s *System) Settle() {
	s.poller.close()
	s.reading.Wait()
}

// Leave is Close for a System whose trees another one adopts.
func (s *System) Leave() {
	s.poller.close()
	s.crew.close()
	s.null.Close()
	s.cgroups.leave()
}

// Duplicate returns another descriptor of the same file, or -1.
func Duplicate(fd int) int {
	other, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return other
}

// CloseDescriptor closes a descriptor that nobody adopts.
func CloseDescriptor(fd int) { unix.Close(fd) }

// duplicate returns another descriptor of an open file, or -1.
func duplicate(file interface{ Control(func(fd uintptr)) error }) int {
	fd := -1
	_ = file.Control(func(own uintptr) { fd = Duplicate(int(own)) }) // fails only if the file is closed
	return fd
}

// A Find is the leader of a tree, or another member, as a search has found it.
type Find struct {
	PID   int    // of the leader, or of another member; 0 if nothing of it lives
	Start uint64 // of the process with that number, as in Lineage
	Leads bool   // PID is the leader's
	Held  bool   // it was killed before its first instruction
}

// EndsHeld reports whether a leader that stands at its first instruction may end by a
// signal: SIGKILL is that of EndHeld, and SIGTRAP that of its stop if the program ends
// that waits for it.
func EndsHeld(sig Signal) bool { return sig == Signal(unix.SIGKILL) || sig == Signal(unix.SIGTRAP) }

// EndHeld ends those members of some trees that stand at their first instruction,
// for which nobody else waits.
func (s *System) EndHeld(trees []*Tree) {
	found, _ := s.Search(trees)
	for _, left := range found {
		for _, m := range left.members {
			endHeld(m)
		}
		left.Close()
	}
}

// Find looks for trees of which the lineage is known, but no leader.
func (s *System) Find(all []Lineage) []Find {
	finds := make([]Find, len(all))
	if len(all) == 0 {
		return finds
	}
	trees := make([]*Tree, len(all))
	for i, l := range all {
		trees[i] = s.Adopt(Adoption{Lineage: l, Ended: true, Output: -1, Input: -1})
	}
	found, _ := s.Search(trees)
	for i, t := range trees {
		if left := found[t]; left != nil {
			finds[i] = leaderOf(left.members)
			left.Close()
		}
	}
	return finds
}
