//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package osproc

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// deliver sends a signal to the groups of some processes, and returns those in
// which something was left.
func deliver(sessions []*session, _ *leaders, sig syscall.Signal) (live map[*session][]int, err error) {
	live = make(map[*session][]int)
	for _, s := range sessions {
		s.num.Lock()
		// After the leader is reaped its number stays taken as long as
		// anything is in the group; once nothing is, it is signalled no more.
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

// escapees finds nothing: these systems do not tell a process's environment to
// others, or not without more than it is worth.
func escapees([]*session, *leaders) (map[*session][]member, bool) { return nil, true }
