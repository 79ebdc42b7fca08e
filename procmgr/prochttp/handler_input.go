package prochttp

import (
	"context"
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
	slice := sliceOf(req.Wait)
	out, over, err := await(r, slice, slice > 0, func(ctx context.Context, wait time.Duration) (procmgr.InputOutput, error) {
		req.Wait = wait // 0 tells what was written by then
		return r.manager.Input(ctx, r.id, req)
	})
	if over && !out.Matched && !(req.UntilWaiting && out.Process.Waiting != nil) {
		r.w.Header().Set(headerWaiting, "true")
	}
	switch {
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
