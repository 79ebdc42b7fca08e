//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package osproc

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// deliver sends a signal to the process groups of some sessions. The leader
// stands for whatever was left in its group.
func (*searches) deliver(sessions []*session, sig syscall.Signal) (live map[*session][]int, settled bool, err error) {
	live = make(map[*session][]int)
	for _, s := range sessions {
		s.num.Lock()
		// After the leader is reaped, its number stays taken as long as
		// anything is in the group. When the group is empty, it gets no more
		// signals.
		if !s.empty.Load() {
			switch kerr := unix.Kill(-s.pid, sig); kerr {
			case nil:
				if wakes(sig) {
					_ = unix.Kill(-s.pid, unix.SIGCONT)
				}
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
	return live, true, err
}
