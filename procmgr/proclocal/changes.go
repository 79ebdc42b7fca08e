package proclocal

import (
	"context"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/linediff"
)

const (
	// maxCompared is how many bytes an output has at most that is compared.
	maxCompared = 8 << 20
	// comparedAtOnce is how many comparisons are under way at most, since each has both
	// outputs in memory.
	comparedAtOnce = 2
)

// changes compares the output of a process with that of another one of its chat.
// It returns nil if it cannot tell.
func (l *Local) changes(ctx context.Context, r *record, against string, limit headtail.Limits) *procmgr.Changes {
	before, _ := l.find(r.chat, against)
	if before == nil || !r.exited() || !before.exited() {
		return nil
	}
	select {
	case l.comparing <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	defer func() { <-l.comparing }()
	was, ok := before.compared()
	if !ok {
		return nil
	}
	is, ok := r.compared()
	if !ok {
		return nil
	}
	c, ok := linediff.Find(was, is, limit)
	if !ok {
		return nil
	}
	return (*procmgr.Changes)(&c)
}

// compared returns all of the output of a process that has ended.
func (r *record) compared() (out linediff.Output, ok bool) {
	p := r.shown.Load()
	out.Start, out.Took = p.StartedAt, p.ExitedAt.Sub(p.StartedAt)
	out.Text, ok = r.out.Whole(maxCompared)
	return out, ok
}
