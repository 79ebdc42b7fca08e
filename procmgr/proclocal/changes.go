package proclocal

import (
	"context"
	"time"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/linediff"
)

const (
	// maxCompared and maxCompareTime bound a comparison: the bytes of both outputs,
	// and the time.
	maxCompared    = 64 << 20
	maxCompareTime = 200 * time.Millisecond
	// littleCompared is how much is so little, in bytes, that several comparisons at
	// a time do not matter, and littleAtOnce how many those are.
	littleCompared = 1 << 20
	littleAtOnce   = 8
)

// comparisons has a place for each comparison that is under way. One with much
// output is alone, since it has all of it in memory.
type comparisons struct{ much, little chan struct{} }

func newComparisons() comparisons {
	return comparisons{make(chan struct{}, 1), make(chan struct{}, littleAtOnce)}
}

// changes compares the output of a process with that of another one of its chat.
// It returns nil if it cannot tell.
func (l *Local) changes(ctx context.Context, r *record, against string, limit headtail.Limits) *procmgr.Changes {
	before, _ := l.find(r.chat, against)
	if before == nil || !r.exited() || !before.exited() {
		return nil
	}
	deadline := time.Now().Add(maxCompareTime)
	place := l.comparing.much
	if r.out.Visible()+before.out.Visible() <= littleCompared {
		place = l.comparing.little
	}
	timer := time.NewTimer(maxCompareTime)
	defer timer.Stop()
	select {
	case place <- struct{}{}:
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return nil
	}
	defer func() { <-place }()
	was, ok := before.out.Whole(maxCompared)
	if !ok {
		return nil
	}
	is, ok := r.out.Whole(maxCompared - int64(len(was)))
	if !ok {
		return nil
	}
	c, ok := linediff.Find(was, is, limit, deadline)
	if !ok {
		return nil
	}
	return &procmgr.Changes{Same: c.Same, Added: c.Added, Removed: c.Removed, Lines: c.Lines, Text: c.Text}
}
