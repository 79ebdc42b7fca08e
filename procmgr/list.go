package procmgr

import (
	"cmp"
	"context"
	"slices"
	"time"
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
	return snapshots(sights(all)), nil
}

// A sight is a record together with what it showed at one moment.
type sight struct {
	*record
	shown *Process // must not be changed
}

// sights looks at the records that have started, in the order of their starts.
func sights(all []*record) []sight {
	seen := make([]sight, 0, len(all))
	for _, r := range inOrder(all) {
		if p := r.shown.Load(); p != nil {
			seen = append(seen, sight{r, p})
		}
	}
	return seen
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
func snapshots(seen []sight) []Process {
	now := time.Now()
	processes, codes := make([]Process, len(seen)), make([]int, 0, len(seen))
	for i, s := range seen {
		p := &processes[i]
		*p = *s.shown
		if p.ExitCode != nil { // the caller may change it
			codes = append(codes, *p.ExitCode)
			p.ExitCode = &codes[len(codes)-1]
		}
		s.out.LookForLog()
		p.LogPath, p.LogError = s.out.Log()
		p.Stopped = p.State != Exited && now.Sub(p.StartedAt) > young && s.tree.Stopped()
	}
	return processes
}
