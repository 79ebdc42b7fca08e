package prochttp

import (
	"context"
	"time"
	"unicode/utf8"

	"github.com/toolproc/toolproc/procmgr"
)

// Output implements [procmgr.Manager].
func (m *manager) Output(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	out, err := m.output(ctx, id, req)
	return out, wrap("output", id, err)
}

// output reads the output of a process. It waits in slices.
func (m *manager) output(ctx context.Context, id string, req procmgr.OutputRequest) (out procmgr.Output, err error) {
	if err := m.check(); err != nil {
		return out, err
	}
	if !utf8.ValidString(id) {
		return out, procmgr.ErrNotFound // no process has such an ID
	}
	body := outputBody{processID: processID{id}, outputFields: outputFields(req)}
	if !utf8.ValidString(req.Against) {
		body.Against = ""
	}
	if req.Wait > 0 && (req.Until != "" || req.Wait > m.c.slice || req.State != "") {
		body.WaitID = newKey()
	}
	began := time.Now()
	for {
		var next procmgr.Output
		answer, err := m.c.call(ctx, &call{manager: m, id: id, path: pathOutput, into: &next, body: func() (any, time.Duration) {
			left := max(req.Wait-time.Since(began), 0)
			if body.WaitID != "" {
				// The server holds the wait, and this asks for its end, even if
				// the time is up by now. A request without a wait would not use
				// it: a From beyond the end would then mean the end by now.
				left = max(left, time.Millisecond)
				body.Left = left
			}
			body.Wait = min(left, m.c.slice)
			return body, body.Wait
		}})
		if err != nil {
			if answer != nil && answer.failure.Result != nil && m.isOf(answer.failure.Result.Process, id) {
				out = *answer.failure.Result
			}
			return out, m.explain(id, answer, err)
		}
		if err := answer.about(m, next.Process, id); err != nil {
			return out, err
		}
		out = next
		changed := body.State != "" && out.Process.State != body.State
		// A snapshot in the middle of a wait does not say what the pattern has
		// seen.
		ended := body.Left <= body.Wait || req.Until == ""
		if !answer.waiting || changed || ended && time.Since(began) >= req.Wait {
			return out, nil
		}
		body.State = out.Process.State
	}
}
