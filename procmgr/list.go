package procmgr

import (
	"cmp"
	"context"
	"slices"
)

// List implements [Manager]. It lists the processes of every chat.
func (l *Local) List(ctx context.Context) ([]Process, error) {
	return listOf(ctx, l.chats.all.records())
}

func (c *chat) List(ctx context.Context) ([]Process, error) {
	if c.err != nil {
		return nil, wrap("list", "", c.err)
	}
	return listOf(ctx, c.local.chats.of(c.id))
}

// listOf returns snapshots of the processes that have started, in the order of
// their starts. Neither it nor the callers of it wait for a lock that is held
// while a process starts or ends.
func listOf(ctx context.Context, all []*record) ([]Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, wrap("list", "", err)
	}
	processes, codes := make([]Process, 0, len(all)), make([]int, 0, len(all))
	bySeq := func(a, b *record) int { return cmp.Compare(a.seq, b.seq) }
	if !slices.IsSortedFunc(all, bySeq) { // some have come back
		slices.SortFunc(all, bySeq)
	}
	for _, r := range all {
		shown := r.shown.Load()
		if shown == nil {
			continue // the start is still under way
		}
		processes = append(processes, *shown)
		p := &processes[len(processes)-1]
		if p.ExitCode != nil { // the caller may change it
			codes = append(codes, *p.ExitCode)
			p.ExitCode = &codes[len(codes)-1]
		}
		p.LogPath, p.LogError = r.out.Log()
	}
	return processes, nil
}
