package toolset

import (
	"context"
	"math"

	"github.com/toolproc/toolproc/chattool/arguments"
	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	// maxListed is how many processes a list has, unless more of them live.
	maxListed = 20
	// minEnded is how many ended processes a list has beside the living
	// ones, no matter how many live. A model often looks for a process that
	// has just ended.
	minEnded = 5
	// maxListedCommand is how many bytes of a command a list shows. That is
	// enough to tell commands apart, and too little for a here-document. If
	// the list gets too long, it shows fewer bytes, but at least
	// minListedCommand.
	maxListedCommand = 200
	minListedCommand = 24
)

// list lists the processes: first all living ones, then the ended ones.
func (k *kit) list(ctx context.Context, c Call, t *turn) report {
	var args listArgs
	m, res, ok := k.begin(ctx, t, c, &args, "")
	if !ok {
		return res
	}
	found, err := listFrom(ctx, m, args.Offset)
	if err != nil {
		if ctx.Err() != nil {
			return k.canceled(ctx, "nothing was listed", nil, "")
		}
		if res, ok := k.failed(c, "", "listed", err); ok {
			return res
		}
		return refuse("the processes could not be listed: %s. Try again, and tell the user if that fails too", words(err))
	}
	return k.showList(found, args.Offset)
}

// listFrom lists processes from an offset on, in the order of a
// [procmgr.ListPage], the ones that matter most to a model first. All living
// processes are there, because the model learns of them nowhere else. A
// foreground command was reported in its own result.
func listFrom(ctx context.Context, m procmgr.Manager, from arguments.Offset) (procmgr.ListPage, error) {
	req := procmgr.ListRequest{Offset: int(min(int64(from), math.MaxInt32)), Limit: maxListed}
	found, err := m.List(ctx, req)
	if all := found.Live - req.Offset + minEnded; err == nil && req.Limit < all {
		req.Limit = all
		found, err = m.List(ctx, req)
	}
	return found, err
}

// showList reports processes from an offset on.
func (k *kit) showList(found procmgr.ListPage, from arguments.Offset) report {
	rest := found.Processes
	next := int64(from) + int64(len(rest))
	var r report
	r.Success, r.Omitted = true, int(max(int64(found.Total)-next, 0))
	if r.Omitted > 0 {
		r.NextOffset = &next
	}
	if from > 0 && len(rest) == 0 {
		r.Add("There are only %d processes.", found.Total)
	}
	limit := min(k.opts.Limit.Bytes, defaultTokens*tokenBytes)
	for most := maxListedCommand; ; most = max(most/2, minListedCommand) {
		r.Processes = append([]procmgr.Process{}, rest...) // not nil, which is of the other tools
		for i, p := range r.Processes {
			r.Processes[i].Command = wording.Clip(p.Command, most)
		}
		if most == minListedCommand || len(k.opts.Format.render(r.Report)) <= limit {
			return r
		}
	}
}
