package osproc

import (
	"syscall"

	"golang.org/x/xerrors"
)

// deliver ends all that belongs to some processes, whatever the signal: this
// system can ask nothing of a process that has a console of its own. The signal
// shows in the exit code alone. It returns what was still there.
func deliver(sessions []*session, _ *leaders, sig syscall.Signal) (live map[*session][]int, err error) {
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
	return live, err
}

// escapees finds nothing: nothing leaves a job.
func escapees([]*session, *leaders) (map[*session][]member, bool) { return nil, true }
