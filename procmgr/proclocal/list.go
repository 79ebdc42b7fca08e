package proclocal

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/callerr"
)

// List implements [procmgr.Manager]. It has the processes of every chat.
func (l *Local) List(ctx context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	return listOf(ctx, l.chats.all.records(), req)
}

func (c *chat) List(ctx context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	if c.err != nil {
		return procmgr.ListPage{}, callerr.Wrap("list", "", c.err)
	}
	return listOf(ctx, c.local.chats.of(c.id), req)
}

// listOf returns a part of the processes of some records. Neither it nor the
// callers of it wait for a lock that is held while a process starts or ends.
func listOf(ctx context.Context, all []*record, req procmgr.ListRequest) (procmgr.ListPage, error) {
	err := ctx.Err()
	if err == nil {
		_, err = procmgr.PageOf(nil, req) // it says why a request is invalid
	}
	if err != nil {
		return procmgr.ListPage{}, callerr.Wrap("list", "", err)
	}
	page, picked := pickSights(func(yield func(sight, *procmgr.Process) bool) {
		for _, r := range slices.Backward(inOrder(all)) {
			if p := r.shown.Load(); p != nil && !yield(sight{r, p}, p) {
				return
			}
		}
	}, req)
	page.Processes = snapshots(picked)
	return page, nil
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
		p.Stopped = p.State != procmgr.Exited && now.Sub(p.StartedAt) > young && s.tree.Stopped()
	}
	return processes
}

// pickSights returns the processes that a request asks for, out of all from the
// newest start on, and a page with the counts. It keeps only as many of a kind as
// a page can have.
func pickSights(all iter.Seq2[sight, *procmgr.Process], req procmgr.ListRequest) (page procmgr.ListPage, picked []sight) {
	var kinds [4][]sight
	var counts [4]int
	for s, p := range all {
		if req.State != "" && p.State != req.State {
			continue
		}
		kind := kindOfProcess(p)
		counts[kind]++
		if req.Limit <= 0 || len(kinds[kind])-req.Limit < req.Offset { // no sum, which may overflow
			kinds[kind] = append(kinds[kind], s)
		}
	}
	picked = slices.Concat(kinds[:]...)
	page.Total, page.Live = counts[0]+counts[1]+counts[2]+counts[3], counts[0]+counts[1]
	picked = picked[min(req.Offset, len(picked)):]
	if req.Limit > 0 {
		picked = picked[:min(req.Limit, len(picked))]
	}
	return page, picked
}

// kindOfProcess is a smaller number for a process that matters more.
func kindOfProcess(p *procmgr.Process) int {
	switch {
	case p.State == procmgr.Running:
		return 0
	case p.State != procmgr.Exited:
		return 1
	case p.Background:
		return 2
	}
	return 3
}
