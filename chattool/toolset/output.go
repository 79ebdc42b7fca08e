package toolset

import (
	"context"
	"errors"

	"github.com/toolproc/toolproc/chattool/arguments"
	"github.com/toolproc/toolproc/chattool/toolset/internal/advice"
	"github.com/toolproc/toolproc/chattool/toolset/internal/notices"
	"github.com/toolproc/toolproc/chattool/toolset/internal/script"
	"github.com/toolproc/toolproc/procmgr"
)

// output reads the output of a process.
func (k *kit) output(ctx context.Context, c Call, t *notices.Turn) report {
	args := outputInputArgs{outputArgs: outputArgs{WaitTimeout: arguments.Duration(k.opts.DefaultTimeout)}}
	into := any(&args)
	if !k.opts.Input {
		into = &args.outputArgs
	}
	m, res, ok := k.begin(ctx, t, c, into, "")
	if !ok {
		return res
	}
	if err := checkPattern("wait_for", string(args.WaitFor)); err != nil {
		return refuse("%s: %s", k.names.output, words(err))
	}
	budget, cut := k.page.allow(int(args.MaxOutput))
	rep := k.readOutput(ctx, c, m, args, budget, t)
	rep.Budget, rep.whole = budget, args.MaxOutput != 0
	rep.Add(cut)
	return rep
}

// readOutput does the work of output, for arguments that can be used.
func (k *kit) readOutput(ctx context.Context, c Call, m procmgr.Manager, args outputInputArgs, budget budget, t *notices.Turn) report {
	wait, clamped := k.opts.clamp("wait_timeout", args.WaitTimeout)
	id := string(args.ProcessID)
	req := procmgr.OutputRequest{From: int64(args.Since), Wait: wait, Until: string(args.WaitFor), UntilListening: int(args.WaitForPort)}
	req.Limit, req.Highlight = k.page.ask(budget)
	out, err := m.Output(ctx, id, req)
	if err == nil && out.Process.ID == "" {
		out.Process.ID = id
	}
	silence := silence{kit: k, m: m, req: req, quiet: !k.opts.Whole && !bool(args.Screen)}
	if err == nil {
		out = silence.wait(ctx, out)
	}
	res, refused := k.failed(c, id, "read", err)
	switch {
	case err == nil && ctx.Err() != nil && alive(out.Process) && !out.Matched:
		return k.leftAlone(ctx, out, req.From)
	case err == nil:
	case errors.Is(err, errors.ErrUnsupported) && req.UntilListening != 0:
		return refuse("%s: wait_for_port does not work here: %s. Use wait_for with a line that the process prints when it is ready", k.names.output, words(err))
	case refused:
		return res
	case ctx.Err() != nil:
		if out, err := k.snapshot(ctx, m, id, req.From); err == nil {
			return k.leftAlone(ctx, out, req.From)
		}
		return k.canceled(ctx, "process "+id+" was left alone", nil, id)
	default:
		snapshot, serr := k.snapshot(ctx, m, id, req.From)
		if serr != nil {
			rep := unsure(id, "reading failed: %s", words(err))
			rep.isError = true
			rep.Add("The process may live. Try again, and tell the user if that fails too.")
			return rep
		}
		rep := k.read(m, snapshot, req.From, "")
		if alive(snapshot.Process) {
			rep.Success = false
			rep.Error = "waiting failed: " + words(err)
			rep.Add("This is the output so far. Read again to wait on.")
		}
		return rep
	}
	rep := k.read(m, out, req.From, clamped)
	switch since := int64(args.Since); {
	case since <= out.Next:
	case alive(out.Process):
		rep.Add("since %d lies beyond the end: the output ends at %d so far.", since, out.Next)
	default:
		rep.Add("since %d lies beyond the end: the output ends at %d.", since, out.Next)
	}
	if heard := rep.heard(out, req.UntilListening, wait); !heard || out.Matched {
		rep.searched(out, req.From, req.Until, wait)
	}
	if !bool(args.Screen) || !k.showScreen(ctx, m, &rep, out, true) {
		k.advise(ctx, &rep, m, advice.Result{Output: out, Command: &script.Source{Text: out.Process.Command, Shell: k.machines.shellOf(ctx, m)}, Reading: true})
	}
	silence.tell(&rep, out)
	return rep
}

// leftAlone returns the result of a wait that ended because the call's context
// did.
func (k *kit) leftAlone(ctx context.Context, out procmgr.Output, from int64) report {
	id := out.Process.ID
	rep := k.describeFrom(out, from)
	rep.Success = false
	rep.Error = endOf(ctx) + "; process " + id + " was left alone"
	rep.NextOffset = &out.Next
	if alive(out.Process) && !stopped(ctx) {
		rep.Add(`Use %s {"process_id":%q,"since":%d} to wait on.`, k.names.output, id, out.Next)
	}
	return rep
}

// read reports on a process that the model named by its ID, from an offset on.
func (k *kit) read(m procmgr.Manager, out procmgr.Output, from int64, clamped string) report {
	rep := k.describeFrom(out, from)
	rep.compare = true
	k.place(&rep, m, out)
	rep.NextOffset = &out.Next
	rep.Add(clamped)
	k.tellQuestion(&rep, m, out)
	if out.Process.State == procmgr.Detached {
		rep.Add("The shell has ended; processes that it started live on, and %s ends them.", k.names.signal)
	}
	return rep
}
