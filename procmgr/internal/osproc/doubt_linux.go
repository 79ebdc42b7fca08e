package osproc

import (
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr/internal/procstat"
)

// proven reports whether a process that has the mark of a session and no cookie at
// all is a member beyond doubt. If this program runs within a tree of another
// manager, few bits of its marks are random, and a manager beside it may have given
// the same one. So something else has to show it: the session, the pipe, a parent
// that is a member, or that it was a member at an earlier look. The caller holds
// the process by a pidfd.
func (f *search) proven(s *session, pid int, inode uint64) bool {
	if known, ok := s.proven[pid]; ok && known == inode || !s.empty.Load() && sessionOf(pid) == s.pid || s.writtenBy(pid) {
		return true
	}
	p, _ := procstat.Look(pid)
	return p.Parent == s.pid && !s.isReaped() ||
		slices.ContainsFunc(f.found[s], func(m member) bool { return m.pid == p.Parent && m.alive() })
}

// lookBefore looks for members before a signal ends the parents that prove them.
func (q *searches) lookBefore(sessions []*session) {
	if !marks.nested() {
		return
	}
	found, _ := q.find(sessions, true)
	for _, members := range found {
		closeMembers(members)
	}
}

// writtenBy reports whether a process has the session's pipe.
func (s *session) writtenBy(pid int) bool {
	var pipe unix.Stat_t
	err := s.anchor.Control(func(fd uintptr) { _ = unix.Fstat(int(fd), &pipe) }) // it stays empty after an error
	if err != nil || pipe.Mode&unix.S_IFMT != unix.S_IFIFO {
		return false // it is closed, or a terminal, which has another file at its other end
	}
	dir := "/proc/" + strconv.Itoa(pid) + "/fd/"
	fds, _ := os.ReadDir(dir) // another user's cannot be read
	return slices.ContainsFunc(fds, func(fd os.DirEntry) bool {
		var file unix.Stat_t
		return unix.Stat(dir+fd.Name(), &file) == nil && file.Ino == pipe.Ino && file.Dev == pipe.Dev
	})
}

// stillDoubtful returns those that the last search could not tell and that live.
func (s *session) stillDoubtful() (pids []int) {
	if found := s.doubtful.Load(); found != nil {
		pids = slices.DeleteFunc(slices.Clone(*found), func(pid int) bool {
			limit, ok := markOf(pid)
			return !ok || marks.key(limit) != marks.key(s.mark) || !statAlive(pid)
		})
	}
	return pids
}
