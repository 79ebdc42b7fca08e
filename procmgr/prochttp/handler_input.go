package prochttp

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

// An inputBody is an InputRequest on the wire. Data is in base64, because it
// need not be text.
type inputBody struct {
	inputFields
	Wait       string `json:"wait,omitempty"`
	UntilQuiet string `json:"until_quiet,omitempty"`
}

// inputFields are those of an InputRequest.
type inputFields struct {
	IdempotencyKey string          `json:"key,omitempty"`
	Data           []byte          `json:"data,omitempty"`
	Keys           []procmgr.Key   `json:"keys,omitempty"`
	Close          bool            `json:"close,omitempty"`
	Secret         bool            `json:"secret,omitempty"`
	Wait           time.Duration   `json:"-"` // those of the inputBody count
	Until          string          `json:"until,omitempty"`
	UntilQuiet     time.Duration   `json:"-"`
	UntilWaiting   bool            `json:"until_waiting,omitempty"`
	Limit          headtail.Limits `json:"limit,omitzero"`
}

func newInputBody(req procmgr.InputRequest) inputBody {
	b := inputBody{inputFields: inputFields(req)}
	if req.UntilQuiet > 0 {
		b.UntilQuiet = req.UntilQuiet.String()
	}
	return b
}

// encode writes the body of an attempt that waits for a time.
func (b inputBody) encode(wait time.Duration) []byte {
	if wait > 0 {
		b.Wait = wait.String()
	}
	data, _ := encode(b) // strings and numbers can always be written
	return data
}

func (b inputBody) request() (procmgr.InputRequest, error) {
	wait, err := parseWait(b.Wait)
	quiet, wrong := parseWait(b.UntilQuiet)
	b.inputFields.Wait, b.inputFields.UntilQuiet = wait, quiet
	return procmgr.InputRequest(b.inputFields), cmp.Or(err, wrong)
}

// input serves an input, with a wait of at most maxSlice. The process itself
// remembers the keys, so a repeated request writes nothing, whichever handler it
// comes through.
func (r *request) input() {
	var body inputBody
	if !r.body(&body) {
		return
	}
	req, err := body.request()
	if err != nil {
		r.failWith(err, nil)
		return
	}
	if req.IdempotencyKey == "" {
		req.IdempotencyKey = newKey()
	}
	req.Wait = min(req.Wait, maxSlice)
	var out procmgr.InputOutput
	began := time.Now()
	ended, err := r.limited(req.Wait, req.Wait > 0, func(ctx context.Context) (err error) {
		out, err = r.manager.Input(ctx, r.id, req)
		return err
	})
	if ended && errors.Is(err, context.Canceled) {
		req.Wait = 0 // what was written by then is told
		out, err = r.manager.Input(r.Context(), r.id, req)
	} else if err == nil && req.Wait > 0 && time.Since(began) >= req.Wait && !out.Matched && !(req.UntilWaiting && out.Waiting != nil) {
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
