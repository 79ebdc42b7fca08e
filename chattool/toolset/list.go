package toolset

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/toolproc/toolproc/procmgr"
)

const (
	// maxListed is how many processes a list has, unless more of them live.
	maxListed = 20
	// minEnded is how many ended processes a list has beside those that
	// live, no matter how many live. A model often looks for a process that
	// has just ended.
	minEnded = 5
	// maxListedCommand is how many bytes of a command a list shows. That is
	// enough to tell commands apart, and too little for a here-document. If
	// the list gets too long, it shows fewer bytes, but at least
	// minListedCommand.
	maxListedCommand = 200
	minListedCommand = 24
)

// list lists the processes: first all that live, then those that have ended.
func (s *Set) list(ctx context.Context, c Call, _ *string) report {
	var args listArgs
	if err := decode(c.Arguments, &args); err != nil {
		return refuse("%s: %s", s.names.list, words(err))
	}
	m, res, ok := s.manager(ctx)
	if !ok {
		return res
	}
	processes, err := m.List(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return s.canceled(ctx, "nothing was listed", nil, "")
	case errors.Is(err, procmgr.ErrRefused):
		return denied("listed", err)
	case errors.Is(err, procmgr.ErrInvalid), errors.Is(err, procmgr.ErrClosed):
		return refuse("%s: %s", s.names.list, words(err))
	case err != nil:
		return refuse("the processes could not be listed: %s. Try again, and tell the user if that fails too", words(err))
	}
	return s.page(processes, int64(args.Offset))
}

// page lists processes from an offset on, those that matter most to a model
// first: processes that live, then background processes that have ended, then
// the others. Within each kind the newest comes first. All living processes are
// there, because the model learns of them nowhere else. A foreground command
// was reported in its own result.
func (s *Set) page(processes []procmgr.Process, offset int64) report {
	// Processes that started in the same instant keep the manager's order,
	// which is oldest first.
	processes = slices.Clone(processes)
	slices.Reverse(processes)
	slices.SortStableFunc(processes, func(a, b procmgr.Process) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), b.StartedAt.Compare(a.StartedAt))
	})
	at := int(min(offset, int64(len(processes))))
	rest := processes[at:]
	living := 0
	for living < len(rest) && rest[living].State != procmgr.Exited {
		living++
	}
	shown := min(max(maxListed, living+minEnded), len(rest))
	r := report{Report: Report{Success: true, Omitted: len(rest) - shown}}
	if r.Omitted > 0 {
		next := int64(at + shown)
		r.NextOffset = &next
	}
	if at > 0 && len(rest) == 0 {
		r.add("There are only %d processes.", len(processes))
	}
	limit := min(s.limit(), defaultTokens*tokenBytes)
	for most := maxListedCommand; ; most = max(most/2, minListedCommand) {
		r.Processes = slices.Clone(rest[:shown])
		if r.Processes == nil {
			r.Processes = []procmgr.Process{}
		}
		for i, p := range r.Processes {
			r.Processes[i].Command = clip(p.Command, most)
		}
		if most == minListedCommand || len(s.opts.Format.render(r.Report)) <= limit {
			return r
		}
	}
}

// rank orders processes by how much they matter to a model.
func rank(p procmgr.Process) int {
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
