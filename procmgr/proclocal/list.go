package proclocal

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

// listOf returns a part of the processes of some records. Neither it nor the
// callers of it wait for a lock that is held while a process starts or ends.
func listOf(ctx context.Context, all []*record, req procmgr.ListRequest) (procmgr.ListPage, error) {
	if err := ctx.Err(); err != nil {
		return procmgr.ListPage{}, err
	}
	page, picked, err := procmgr.PageFrom(func(yield func(sight, *procmgr.Process) bool) {
		for _, r := range slices.Backward(inOrder(all)) {
			if p := r.shown.Load(); p != nil && !yield(sight{r, p}, p) {
				return
			}
		}
	}, req)
	if err == nil {
		page.Processes = snapshots(picked)
	}
	return page, err
}

// A sight is a record together with what it showed at one moment.
type sight struct {
	*record
	shown *procmgr.Process // must not be changed
}

// inOrder sorts records in the order of their starts.
func inOrder(all []*record) []*record {
	bySeq := func(a, b *record) int { return cmp.Compare(a.seq, b.seq) }
	if !slices.IsSortedFunc(all, bySeq) { // some have come back
		slices.SortFunc(all, bySeq)
	}
	return all
}

// young is how long a list does not ask whether a new process is stopped. Under
// load most processes that live are young. To ask costs system calls, in which
// the goroutine may lose its processor.
const young = 100 * time.Millisecond

// snapshots returns copies of processes. The caller may keep them.
func snapshots(seen []sight) []procmgr.Process {
	now := time.Now()
	processes, codes := make([]procmgr.Process, len(seen)), make([]int, 0, len(seen))
	for i, s := range seen {
		p := &processes[i]
		*p = *s.shown
		if p.ExitCode != nil { // the caller may change it
			codes = append(codes, *p.ExitCode)
			p.ExitCode = &codes[len(codes)-1]
		}
		s.out.LookForLog()
		p.LogPath, p.LogError = s.out.Log()
		p.Elapsed = elapsed(p, now)
		p.Waiting = s.waiting(p.State)
		p.Stopped = p.State != procmgr.Exited && now.Sub(p.StartedAt) > young && s.tree.Stopped()
	}
	return processes
}
