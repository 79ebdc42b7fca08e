//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package osproc

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// deliver sends a signal to the process groups of some sessions. It returns the
// sessions in whose group something was left.
func deliver(sessions []*session, _ *leaders, sig syscall.Signal) (live map[*session][]int, err error) {
	live = make(map[*session][]int)
	for _, s := range sessions {
		s.num.Lock()
		// After the leader is reaped, its number stays taken as long as
		// anything is in the group. When the group is empty, it gets no more
		// signals.
		if !s.empty.Load() {
			switch kerr := unix.Kill(-s.pid, sig); kerr {
			case nil:
				live[s] = []int{s.pid}
			case unix.ESRCH:
				if s.reaped {
					s.empty.Store(true)
				}
			default:
				err = kerr
			}
		}
		s.num.Unlock()
	}
	return live, err
}

// escapees finds nothing. These systems do not show a process's environment to
// other processes, or only at a cost that is too high.
func escapees([]*session, *leaders) (map[*session][]member, bool) { return nil, true }
