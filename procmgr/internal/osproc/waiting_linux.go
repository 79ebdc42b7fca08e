package osproc

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr/internal/waiting"
)

// TellsWaiting reports whether Waiting can tell anything on this platform.
const TellsWaiting = true

// Waiting reports whether a member waits for input on the tree's stdin, as package
// waiting says: the leader, what it has started, or another member that is known. It
// makes no search. If nobody can tell, or if the stdin is empty, it reports false.
func (t *Tree) Waiting() (w Waiting, ok bool) {
	in := t.input
	if in == nil || in.isGone() {
		return w, false
	}
	found := in.readers.waits(in.conn, in.terminal, in.mode, t.session.known)
	if found == nil || t.pipe.unread() {
		return w, false
	}
	return Waiting{PID: found.PID, Program: found.Program, Secret: found.Secret}, true
}

// unread reports whether there is output that has not reached the Sink. What a program
// has printed before it began to wait belongs in front of the wait, and whoever reads it
// may not have had a processor since.
func (p *pipe) unread() (yes bool) {
	if !p.mu.TryLock() {
		return true // it is read right now
	}
	defer p.mu.Unlock()
	_ = p.end.Control(func(fd uintptr) { // an end that is closed has nothing more
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 0)
		yes = err == nil && n > 0 && fds[0].Revents&unix.POLLIN != 0
	})
	return yes
}

// mode returns what the terminal tells of itself; zero for a pipe. It reports false if
// the terminal does not tell.
func (in *Input) mode() (mode waiting.Mode, ok bool) {
	if !in.terminal {
		return mode, true
	}
	m, err := in.Mode()
	if err != nil {
		return mode, false
	}
	mode.Keys, mode.Secret = !m.Lines, m.Lines && !m.Echo
	mode.Group, ok = foreground(in.conn)
	return mode, ok
}

// known returns the numbers of the leader, if it lives, and of the other members that
// are known.
func (s *session) known() (pids []int) {
	if _, reaped := s.leaderStopped(); !reaped {
		pids = append(pids, s.pid)
	}
	s.eachPin(func(m member) {
		if !slices.Contains(pids, m.pid) && m.alive() {
			pids = append(pids, m.pid)
		}
	})
	return pids
}
