package osproc

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr/internal/prompt"
	"github.com/toolproc/toolproc/procmgr/internal/sockets"
)

// TellsPorts reports whether Listening can tell anything on this platform.
const TellsPorts = true

// Listening returns the TCP sockets on which the members of a tree listen, as
// [sockets.HeldBy] does. It reports false if it could not look.
func (s *System) Listening(t *Tree) (all []Listen, looked bool) {
	if s.Unreadable() != nil {
		return nil, false
	}
	members, settled := t.look()
	defer closeMembers(members)
	if !settled {
		return nil, false
	}
	var processes []sockets.Process
	for _, m := range members {
		processes = append(processes, sockets.Process{PID: m.pid, Alive: m.alive})
	}
	return sockets.HeldBy(processes), true
}

// Waiting reports whether a member waits for input on the tree's stdin, in the sense of
// package prompt: the leader, its descendants, or another known member. It makes no
// search. It reports false if that is unknown or if the stdin is empty.
func (t *Tree) Waiting() (w prompt.Found, ok bool) {
	in := t.input
	if in == nil || in.isGone() || t.system.Unreadable() != nil {
		return w, false
	}
	found := in.reader.Waits(in.conn, in.terminal, in.mode, t.session.knownMembers)
	if found == nil || t.pipe.unread() {
		return w, false
	}
	return *found, true
}

// unread reports whether there is output that has not reached the Sink. What a program
// printed before it began to wait belongs before the wait, and the goroutine that reads
// it may not have run since.
func (p *pipe) unread() (yes bool) {
	if !p.mu.TryLock() {
		return true // it is read right now
	}
	defer p.mu.Unlock()
	_ = p.conn.Control(func(fd uintptr) { // an end that is closed has nothing more
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 0)
		yes = err == nil && n > 0 && fds[0].Revents&unix.POLLIN != 0
	})
	return yes
}

// mode returns what the terminal tells of itself; zero for a pipe. It reports false if
// the terminal does not tell.
func (in *Input) mode() (mode prompt.Mode, ok bool) {
	if !in.terminal {
		return mode, true
	}
	_ = in.conn.Control(func(fd uintptr) {
		var err error
		mode, err = prompt.ModeOf(int(fd))
		ok = err == nil
	})
	return mode, ok
}

// knownMembers returns the numbers of the leader, if it lives, and of the other
// members that are known.
func (s *session) knownMembers() (pids []int) {
	if !s.ended.Load() {
		pids = append(pids, s.pid)
	}
	s.eachPin(func(m member) {
		if m.alive() {
			pids = append(pids, m.pid)
		}
	})
	return pids
}

const ioctlGetTermios = unix.TCGETS

// MaxLine is how many bytes of a line a terminal takes that collects lines; it
// drops the others. See N_TTY_BUF_SIZE of the kernel.
const MaxLine = 4095

// growPipe asks for a larger pipe. A user without privileges may have 64 MiB of
// pipes in all. If they are used up, the pipe stays as it is.
func growPipe(fd int) { _, _ = unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, grownSize) }

// ignoredUnknown reports whether this program ignores a signal. [signal.Ignored]
// does not know of SIGTSTP and SIGCONT that were ignored from the beginning, of a
// signal that C code ignores, and of SIGHUP after a signal.Notify and a
// signal.Stop.
func ignoredUnknown(sig syscall.Signal) bool {
	const sigIgn = 1
	// An architecture that has another struct sigaction, or more signals, refuses
	// the size of the mask.
	var action struct {
		handler         uintptr
		flags, restorer uintptr
		mask            uint64
	}
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(&action)), unsafe.Sizeof(action.mask), 0, 0)
	return errno == 0 && action.handler == sigIgn
}
