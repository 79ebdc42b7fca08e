//go:build darwin || freebsd || netbsd || openbsd || dragonfly || windows

package osproc

import "syscall"

// killGroups ends the groups or the jobs, which is all that can be done.
func (q *searches) killGroups(sessions []*session) {
	_, _, _ = q.deliver(sessions, syscall.SIGKILL) // a second attempt tells the error
}

func checkProcfs() error { return nil }

// searches has nothing to share here.
type searches struct{ leaders }

// find tells which of some sessions have members. No process can leave a job of
// Windows. A process that has left its group cannot be found: the BSDs do not show a
// process's environment to other processes, or only at a cost that is too high.
func (*searches) find(sessions []*session, _ bool) (found map[*session][]member, settled bool) {
	found = make(map[*session][]member)
	for _, s := range sessions {
		found[s] = s.members()
	}
	return found, true
}
