package toolset

import (
	"context"
	"math"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	// maxListed is how many processes a list has, and maxListedCommand how many bytes of
	// the command of each. That is enough to tell commands apart, and too little for a
	// here-document.
	maxListed        = 20
	maxListedCommand = 200
	// maxListedEntry is how many bytes of a result a process takes at most.
	maxListedEntry = 400
)

// list lists the processes from an offset on, in the order of a [procmgr.ListPage]: the
// living ones first, because the model learns of them nowhere else.
func (k *kit) list(ctx context.Context, c Call, t *turn) report {
	var args listArgs
	m, res, ok := k.begin(ctx, t, c, &args, "")
	if !ok {
		return res
	}
	found, err := m.List(ctx, procmgr.ListRequest{
		Offset: int(min(int64(args.Offset), math.MaxInt32)),
		Limit:  min(maxListed, max(k.opts.Limit.Bytes/maxListedEntry, 1)),
	})
	if err != nil {
		if ctx.Err() != nil {
			return k.canceled(ctx, "nothing was listed", nil, "")
		}
		if res, ok := k.failed(c, "", "listed", err); ok {
			return res
		}
		return refuse("the processes could not be listed: %s. Try again, and tell the user if that fails too", words(err))
	}
	next := int64(args.Offset) + int64(len(found.Processes))
	var r report
	r.Success, r.Omitted = true, int(max(int64(found.Total)-next, 0))
	if r.Omitted > 0 {
		r.NextOffset = &next
	}
	if args.Offset > 0 && len(found.Processes) == 0 {
		r.Add("There are only %d processes.", found.Total)
	}
	r.Processes = append([]procmgr.Process{}, found.Processes...) // not nil, which is of the other tools
	for i := range r.Processes {
		r.Processes[i].Command = wording.Clip(r.Processes[i].Command, maxListedCommand)
	}
	return r
}
