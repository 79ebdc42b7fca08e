package proclocal

import (
	"context"
	"slices"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/callerr"
)

var (
	_ procmgr.ListManager = (*Local)(nil)
	_ procmgr.ListManager = (*chat)(nil)
)

// ListSome implements [procmgr.ListManager]. It has the processes of every chat.
func (l *Local) ListSome(ctx context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	return someOf(ctx, l.chats.all.records(), req)
}

func (c *chat) ListSome(ctx context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	if c.err != nil {
		return procmgr.ListPage{}, callerr.Wrap("list", "", c.err)
	}
	return someOf(ctx, c.local.chats.of(c.id), req)
}

// someOf returns a part of the processes of some records.
func someOf(ctx context.Context, all []*record, req procmgr.ListRequest) (procmgr.ListPage, error) {
	err := ctx.Err()
	if err == nil {
		err = req.Validate()
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
