package proclocal

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal/internal/retention"
)

// list is List for one viewer.
func (l *Local) list(ctx context.Context, v view, req procmgr.ListRequest) (procmgr.ListPage, error) {
	if err := ctx.Err(); err != nil {
		return procmgr.ListPage{}, err
	}
	l.mu.Lock()
	var all []*record
	if v.host {
		all = l.table.records()
	} else {
		all = slices.Collect(maps.Keys(l.table.of(v.chat).all))
	}
	l.mu.Unlock()
	all = slices.DeleteFunc(inOrder(all), func(r *record) bool { return r.shown.Load() == nil })
	processes := make([]procmgr.Process, len(all))
	for i, r := range all {
		processes[i] = *r.shown.Load()
	}
	page, err := procmgr.PageOf(processes, req)
	now := time.Now()
	for i := range page.Processes {
		p := &page.Processes[i]
		*p = retention.Clone(*p) // the caller may change it
		p.Elapsed = elapsed(p, now)
		if r, _ := l.find(p.ChatID, p.ID); r != nil { // it may have been dropped meanwhile
			r.out.LookForLog()
			p.LogPath, p.LogError = r.out.Log()
			p.Waiting = r.waiting(p.State)
		}
	}
	return page, err
}

// chatOf finds the one chat that has used an ID.
func (l *Local) chatOf(id string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.table.chatOf(id)
}

// inOrder sorts records in the order of their starts.
func inOrder(all []*record) []*record {
	slices.SortFunc(all, func(a, b *record) int { return cmp.Compare(a.seq, b.seq) })
	return all
}
