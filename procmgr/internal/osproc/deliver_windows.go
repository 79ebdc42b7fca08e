package osproc

import (
	"syscall"

	"golang.org/x/xerrors"
)

// deliver ends all members of some sessions, whatever the signal: Windows
// cannot ask anything of a process that has a console of its own. The signal
// shows only in the exit code. deliver returns the members that were still
// there.
func (*searches) deliver(sessions []*session, sig syscall.Signal) (live map[*session][]int, settled bool, err error) {
	live = make(map[*session][]int)
	for _, s := range sessions {
		pids, serr := s.end(sig)
		if len(pids) > 0 {
			live[s] = pids
		}
		if serr != nil {
			err = xerrors.Errorf("pid %d cannot be ended: %w", s.pid, serr)
		}
	}
	return live, true, err
}
