package prochttp

import (
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/check"
)

// Input implements [procmgr.Manager]. If the answer is lost, the client asks again
// with the same key, so that nothing is written twice. If no answer comes at all,
// the error is [procmgr.ErrUnknown], and a caller that has chosen the key can ask
// again. If the Host behind the handler cannot write, the error is
// [errors.ErrUnsupported].
//
// A pipe that has taken a part of Data and is full is waited for as long as one
// request waits, 25 s at most: Written then says where to go on.
func (m *manager) Input(ctx context.Context, id string, req procmgr.InputRequest) (out procmgr.InputOutput, err error) {
	defer func() { err = wrap("input", id, err) }()
	if err := m.check(); err != nil {
		return out, err
	}
	switch {
	case !utf8.ValidString(id):
		return out, procmgr.ErrNotFound // no process has such an ID
	case len(req.Data) > check.MaxInput:
		return out, xerrors.Errorf("the data has %d bytes, at most %d are allowed at a time: %w", len(req.Data), check.MaxInput, procmgr.ErrInvalid)
	}
	body := inputBody{processID{id}, inputFields(req)}
	if body.IdempotencyKey == "" {
		body.IdempotencyKey = newKey()
	}
	began := time.Now()
	for { // each request of a wait has the key of the first one, and writes nothing
		var next procmgr.InputOutput
		c := &call{manager: m, id: id, path: pathInput, into: &next, body: func() (any, time.Duration) {
			body.Wait = m.c.left(req.Wait, began)
			return body, body.Wait
		}}
		asked := time.Now()
		answer, err := m.c.call(ctx, c)
		if err != nil {
			// The program did not take the input within this slice, and nothing
			// was written.
			notYet := answer != nil && answer.failure.Code == codeNotReady && answer.failure.Result == nil
			if notYet && time.Since(asked) >= body.Wait && time.Since(began) < req.Wait {
				continue
			}
			return m.inputFailed(ctx, c, answer, out, err)
		}
		if err := answer.about(m, next.Process, id); err != nil {
			return out, err
		}
		changed := out.Process.ID != "" && next.Process.State != out.Process.State
		out = next
		// What was not taken in one slice is for another key, and so for the
		// caller.
		waits := req.Until != "" || req.UntilQuiet > 0 || req.UntilWaiting
		if !answer.waiting || changed || out.Written < len(req.Data) || !waits || time.Since(began) >= req.Wait {
			return out, nil
		}
	}
}

// inputFailed returns what is known of an input that failed. out is the answer
// to an earlier request of the same input.
func (m *manager) inputFailed(ctx context.Context, c *call, answer *answer, out procmgr.InputOutput, err error) (procmgr.InputOutput, error) {
	switch {
	case answer != nil && answer.failure.Result != nil && m.isOf(answer.failure.Result.Process, c.id):
		return procmgr.InputOutput{Output: *answer.failure.Result, Written: answer.failure.Written}, err
	case c.retry.phase == unsure && (answer == nil || !errors.Is(err, procmgr.ErrNotReady) && !errors.Is(err, procmgr.ErrConflict)):
		// Other refusals tell nothing of the attempt before them, whose answer was lost.
		return out, unknown(xerrors.Errorf("the input may have been written: %w", err))
	}
	return out, m.explain(c.id, answer, err)
}
