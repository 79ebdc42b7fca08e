package prochttp

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

// input serves an input, with a wait of at most maxSlice. The process itself
// remembers the keys, so a repeated request writes nothing, whichever handler it
// comes through.
func (r *request) input() {
	var body inputBody
	if !r.body(&body) {
		return
	}
	req := procmgr.InputRequest(body.inputFields)
	if req.IdempotencyKey == "" {
		req.IdempotencyKey = newKey()
	}
	req.Wait = sliceOf(req.Wait)
	var out procmgr.InputOutput
	began := time.Now()
	ended, err := r.limited(req.Wait, req.Wait > 0, func(ctx context.Context) (err error) {
		out, err = r.manager.Input(ctx, r.id, req)
		return err
	})
	if ended && errors.Is(err, context.Canceled) {
		req.Wait = 0 // what was written by then is told
		out, err = r.manager.Input(r.Context(), r.id, req)
	} else if err == nil && req.Wait > 0 && time.Since(began) >= req.Wait && !out.Matched && !(req.UntilWaiting && out.Process.Waiting != nil) {
		r.w.Header().Set(headerWaiting, "true")
	}
	switch {
	case errors.Is(err, errBusy):
		r.failWith(err, nil)
	case out.Process.ID != "" && !r.mine(&out.Process):
	case err == nil:
		r.answer(http.StatusOK, &out)
	default:
		f := failureOf(err)
		if out.Process.ID != "" {
			f.Result, f.Written = &out.Output, out.Written
		}
		r.fail(f)
	}
}
