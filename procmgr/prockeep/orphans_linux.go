package prockeep

import (
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr/internal/procstat"
)

// orphans are the processes whose parent has ended. A keeper's program does nothing
// else, so it adopts and reaps the orphans of its processes.
type orphans struct {
	zombies map[int]bool // seen by the last look
}

// adopt makes this program the parent of its descendants' orphans.
func (o *orphans) adopt() error {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// reap reaps the orphans that were already zombies at the last look, because code in
// this program that started a process has waited for it by then. leaders returns a
// function that reports whether a process may still be waited for.
func (o *orphans) reap(leaders func() func(pid int) bool) {
	var info unix.Siginfo
	if err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err != nil || info.Signo == 0 {
		o.zombies = nil
		return
	}
	before, leads := o.zombies, leaders()
	o.zombies = make(map[int]bool)
	threads, _ := filepath.Glob("/proc/self/task/*")
	for _, thread := range threads {
		for _, pid := range procstat.Children(thread) {
			if p, ok := procstat.Look(pid); !ok || p.State != 'Z' || leads(pid) {
				continue
			}
			if o.zombies[pid] = true; before[pid] {
				_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // somebody else may have been faster
			}
		}
	}
}
