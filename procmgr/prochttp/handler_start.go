package prochttp

import (
	"context"
	"errors"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/check"
)

// start serves a start: the command, a limited wait and the output so far in one
// round trip.
func (r *request) start() {
	var body startBody
	if !r.body(&body) {
		return
	}
	if meant := r.Header.Get(headerInstance); meant != "" && meant != r.h.instance {
		r.fail(failure{Code: codeRestarted})
		return
	}
	if r.h.opts.Context.Err() != nil {
		r.fail(failure{Code: codeClosed, Detail: "the server is shutting down, nothing was started"})
		return
	}
	req := procmgr.StartRequest(body)
	req.Wait = sliceOf(req.Wait)
	if up, err := time.ParseDuration(r.Header.Get(headerUp)); err == nil {
		req.Age = check.Aged(req.Age, time.Since(r.h.began)-up)
	}
	var out procmgr.Output
	ended, err := r.limited(req.Wait, req.Wait > 0, func(ctx context.Context) (err error) {
		out, err = r.manager.Start(ctx, req)
		return err
	})
	if out.Process.ID != "" {
		r.id = out.Process.ID
	}
	if ended && errors.Is(err, context.Canceled) {
		// The shutdown ended the wait, not the command.
		if out.Process.ID == "" {
			r.fail(failure{Code: codeClosed, Detail: "the server is shutting down, nothing was started"})
			return
		}
		now, failed := r.manager.Output(r.Context(), r.id, procmgr.OutputRequest{Limit: req.Limit, Highlight: req.Highlight})
		if failed == nil {
			now.Attached = out.Attached
			out, err = now, nil
		} else {
			err = unknown(err) // if the host is a client, the start may still be on its way
		}
	}
	asks := req.UntilWaiting && out.Process.Waiting != nil
	if err == nil && req.Wait > 0 && out.Process.State == procmgr.Running && !asks && r.h.opts.Context.Err() == nil {
		r.w.Header().Set(headerWaiting, "true")
	}
	r.finish(&out, err)
}
