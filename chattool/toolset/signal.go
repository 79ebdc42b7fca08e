package toolset

import (
	"context"
	"errors"

	"github.com/toolproc/toolproc/procmgr"
)

// signal sends a signal, and watches its effect for a moment.
func (k *kit) signal(ctx context.Context, c Call, t *turn) report {
	var args signalArgs
	m, res, ok := k.begin(ctx, t, c, &args, "no signal was sent")
	if !ok {
		return res
	}
	id, sig := string(args.ProcessID), procmgr.Signal(args.Signal)
	ctx, leave := k.enter(ctx, inFlight{m: m, id: id})
	defer leave()
	if res, ok := k.ask(ctx, m, Question{Call: c, ProcessID: id}, "No signal was sent"); !ok {
		return res
	}
	err := m.Signal(ctx, id, sig)
	res, refused := k.failed(c, id, "sent", err)
	switch {
	case err == nil:
	case refused:
		return res
	case errors.Is(err, procmgr.ErrNotRunning):
		var rep report
		rep.Success, rep.State = true, procmgr.Exited
		out, oerr := k.snapshot(ctx, m, id, atEnd)
		if oerr == nil {
			rep = k.afterSignal(out)
		}
		rep.Add("Process %s had already ended; nothing was sent.", id)
		return rep
	case ctx.Err() != nil:
		return k.undecided(ctx, "it is unknown whether the signal was sent to process "+id, id)
	default:
		out, oerr := k.snapshot(ctx, m, id, atEnd)
		if oerr != nil {
			return unsure(id, "the signal could not be sent, or did not do all that it should: %s", words(err))
		}
		rep := k.afterSignal(out)
		if alive(out.Process) {
			rep.fail("%s", words(err))
			rep.Add(`Part of the process may still run; look with %s {"process_id":%q,"wait_timeout":"0s"}.`, k.names.output, id)
		} else if out.Process.MayLiveOn {
			rep.Add("Process %s has ended, but a daemon that it started may run unseen: look for it with ps.", id)
		}
		return rep
	}

	out, err := k.settle(ctx, m, id, atEnd, signalGrace)
	if err != nil {
		out, err = k.snapshot(ctx, m, id, atEnd)
	}
	if err != nil {
		var rep report
		rep.Success, rep.ProcessID = true, id
		rep.Add("The signal was sent; its effect could not be read: %s.", words(err))
		return rep
	}
	rep := k.afterSignal(out)
	switch {
	case !alive(out.Process):
		rep.Add("Process %s has ended, as it was asked to.", id)
	case sig == procmgr.Terminate:
		rep.Add("The signal was sent, and the process has not ended yet: it may be cleaning up, or ignore the signal. Use kill if it still runs later.")
	case sig == procmgr.Interrupt:
		rep.Add("The signal was sent, and the process still runs: it may be cleaning up, or ignore the signal. Use terminate if it should end.")
	default:
		rep.fail("the signal was sent, and something of the process still runs")
	}
	return rep
}

// afterSignal reports the state of a process after a signal. It is a success
// whatever the exit code is, since the model wanted the process to end.
func (k *kit) afterSignal(out procmgr.Output) report {
	rep := k.describe(out)
	rep.Success = true
	rep.Reads = false
	rep.Error = ""
	rep.NextOffset = nil
	rep.LogPath = ""
	return rep
}
