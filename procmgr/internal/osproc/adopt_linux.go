package osproc

import (
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr/internal/procstat"
)

// Adopts reports whether Adopt can follow a tree on this platform.
const Adopts = true

// adoptSession makes the session of a tree that another program has started.
// anchor is the end of its pipe.
func adoptSession(a *Adoption, anchor end, noPidfd bool) *session {
	s := &session{
		pid: a.PID, cookie: a.Cookie, mark: mark(a.Mark), whole: a.Whole, wrapped: a.Wrapped, anchor: anchor,
		noPidfd: noPidfd, reaped: true, others: a.Await, done: make(chan struct{}),
	}
	if a.Cgroup != "" {
		s.cgroup = &cgroup{path: a.Cgroup}
	}
	if s.mark != 0 {
		marks.adopt(s.mark)
	}
	s.empty.Store(a.Ended)
	s.killed.Store(a.Killed)
	if a.Ended {
		return s
	}
	if s.others == nil {
		s.others = func(<-chan struct{}) (Exit, bool) { return Exit{}, false }
	}
	if !procstat.Is(s.pid, a.Start) {
		return s // it has gone, and the number is another one's
	}
	if m, ok := openMember(s.pid, noPidfd); ok && s.leads(m) {
		if a.Exit == nil && m.alive() {
			_ = s.anchor.Control(func(fd uintptr) { setOwner(int(fd), s.pid) })
		}
		if m.pidfd >= 0 {
			s.leader = &polled{fd: m.pidfd, leader: true}
		}
	} else if ok {
		m.close()
	}
	if a.Exit == nil && waitForExit(unix.P_PID, s.pid, unix.WNOHANG) != unix.ECHILD {
		s.others, s.reaped = nil, false // it is this program's own child
	}
	return s
}

// leads reports whether a process is surely the session's leader.
func (s *session) leads(m member) bool {
	if sessionOf(m.pid) != s.pid {
		return false
	}
	if limit, ok := markOf(m.pid); ok && s.mark != 0 && marks.key(limit) == marks.key(s.mark) {
		return true
	}
	var environ environReader
	text, err := environ.read(m.pid)
	if err != nil {
		return false
	}
	found := false
	eachCookie(text, func(name []byte) bool {
		found = string(name) == s.cookie
		return !found
	})
	return found
}

func (s *session) wasKilled() bool { return s.killed.Load() }

// Peak returns the peak memory of another program's child, in bytes, or 0 if its
// usage does not tell it.
func Peak(bytes int64) int64 { return ownPeak(bytes) }

// Escapees returns the members of an ended tree that live.
func (t *Tree) Escapees() *Escaped {
	members, settled := t.look(true)
	return &Escaped{tree: t, members: members, missed: !settled}
}

// leaderOf returns the member that leads the session of a tree: the first one that
// leads any. If none does, the leader has gone.
func leaderOf(members []member) (f Find) {
	var leader member
	for _, m := range members {
		leads := sessionOf(m.pid) == m.pid
		if f.PID == 0 || leads && !f.Leads || leads == f.Leads && m.pid < f.PID {
			f, leader = Find{PID: m.pid, Leads: leads}, m
		}
	}
	if p, ok := procstat.Look(f.PID); ok {
		f.Start = p.Start
	}
	f.Held = f.Leads && len(members) == 1 && endHeld(leader)
	return f
}

// endHeld kills a process that stands at its first instruction and waits for this
// program or its parent. It reports false if it does not.
func endHeld(m member) bool { return heldAtExec(m.pid) && m.signal(syscall.SIGKILL) == nil }

// heldAtExec reports whether a process stands at its first instruction and waits
// for this program or its parent. It asks to be traced between its fork and its
// exec. If the program that forked it dies before that, another one traces it and
// does not know.
func heldAtExec(pid int) bool {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if p, _ := procstat.Look(pid); err != nil || p.State != 't' {
		return false
	}
	_, line, _ := strings.Cut(string(status), "\nTracerPid:")
	line, _, _ = strings.Cut(line, "\n")
	tracer, err := strconv.Atoi(strings.TrimSpace(line))
	return err == nil && (tracer == os.Getppid() || tracer == os.Getpid())
}

// Sealed reports whether no member can leave the tree unseen.
func (l Lineage) Sealed() bool { return l.Cgroup != "" }
