package toolset

import (
	"context"
	"time"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/procmgr"
)

// promote reports that a foreground command runs on although its timeout is over:
// from now on it is a background process.
func (r *run) promote(rep *report, out procmgr.Output) {
	rep.Success = false
	rep.Error = "still running after " + wording.Duration(r.req.Wait) + ", the timeout; nothing was killed"
	took := r.kit.lastTook(rep, r.m, out.Process)
	if took != "" {
		rep.Error = "still running after " + wording.Duration(r.req.Wait) + took + "; nothing was killed"
	}
	if r.overdrawn {
		rep.Error = "still running when the call ran out of time" + took + "; nothing was killed"
	}
	next := max(2*min(r.req.Wait, noLimit/2), time.Minute)
	rep.Add(`Do not run the command again. Use %s {"process_id":%q,"since":%d,"wait_timeout":%q} to wait on, %s to end it.`,
		r.kit.names.output, out.Process.ID, out.Next, wording.Duration(min(next, r.kit.opts.MaxTimeout)), r.kit.names.signal)
}

// overdue reports on a command whose call reached its deadline. It ends
// nothing: the result is the same as for the tool's own timeout. Start returned
// out and err.
func (r *run) overdue(ctx context.Context, out procmgr.Output, err error) report {
	r.overdrawn = true
	if err == nil {
		return r.started(ctx, out, "")
	}
	found, ferr := r.kit.snapshot(ctx, r.m, r.req.ID, 0)
	switch {
	case ferr == nil:
		return r.started(ctx, found, "")
	case out.Process.State != "":
		return r.started(ctx, out, "") // as it was when the deadline passed
	case !mayHaveBegun(out, err):
		return r.kit.canceled(ctx, "nothing was started", nil, "")
	}
	rep := unsure(r.req.ID, "the call ran out of time before it was known whether the command has started")
	rep.Add(`It may run, or be about to start, as process %s. Do not run it again before %s {"process_id":%q} has said twice that there is no such process.`,
		r.req.ID, r.kit.names.output, r.req.ID)
	return rep
}
