package prochttp

import (
	"context"
	"net/http"
	"time"
	"unicode/utf8"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// Input implements [procmgr.Manager]. It finds the processes of every chat.
// If the answer is lost, the client asks again with the same key, so that
// nothing is written twice. If no answer comes at all, the error is
// [procmgr.ErrUnknown], and a caller that has chosen the key can ask again. If
// the Host behind the handler cannot write, the error is
// [errors.ErrUnsupported].
//
// A pipe that has taken a part of Data and is full is waited for as long as one
// request waits, 25 s at most: Written then says where to go on.
func (c *Client) Input(ctx context.Context, id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
	return c.all.Input(ctx, id, req)
}

func (m *manager) Input(ctx context.Context, id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
	out, err := m.input(ctx, id, req)
	return out, wrap("input", id, err)
}

// input writes once, and waits in slices: each request of a wait has the key of
// the first one, and writes nothing.
func (m *manager) input(ctx context.Context, id string, req procmgr.InputRequest) (out procmgr.InputOutput, err error) {
	if err := m.check(); err != nil {
		return out, err
	}
	switch {
	case id == "" || len(id) > maxPath:
		return out, procmgr.ErrNotFound
	case len(req.Data) > procmgr.MaxInput:
		return out, xerrors.Errorf("the data has %d bytes, at most %d are allowed at a time: %w", len(req.Data), procmgr.MaxInput, procmgr.ErrInvalid)
	case len(req.Until) > maxPath:
		return out, xerrors.Errorf("the pattern has %d bytes: %w", len(req.Until), procmgr.ErrInvalid)
	case !utf8.ValidString(req.Until):
		return out, xerrors.Errorf("the pattern is not UTF-8, which this connection cannot carry: %w", procmgr.ErrInvalid)
	}
	if req.IdempotencyKey == "" {
		req.IdempotencyKey = newKey()
	}
	body := newInputBody(req)
	began := time.Now()
	server, first := m.c.seen.now(), true
	for {
		var next procmgr.InputOutput
		c := &call{manager: m, id: id, method: http.MethodPost, path: processPath(id, "input"), into: &next}
		if c.first = server; !first {
			c.instance = server // only the server that has written knows the key
		}
		c.prepare = func() {
			c.wait = max(min(req.Wait-time.Since(began), m.c.slice), 0)
			c.body = body.encode(c.wait)
		}
		asked := time.Now()
		answer, err := m.c.call(ctx, c)
		if answer != nil {
			server, first = answer.instance, false
		}
		if notYet(answer) && time.Since(asked) >= c.wait && time.Since(began) < req.Wait {
			continue
		}
		if err != nil {
			return m.inputFailed(ctx, id, c, answer, out, err)
		}
		if err := answer.about(m, next.Process, id); err != nil {
			return out, err
		}
		changed := out.Process.ID != "" && next.Process.State != out.Process.State
		out = next
		// What was not taken in one slice is for another key, and so for the
		// caller.
		if !answer.waiting || changed || out.Written < len(req.Data) || req.Until == "" && req.UntilQuiet <= 0 && !req.UntilWaiting || time.Since(began) >= req.Wait {
			return out, nil
		}
	}
}

// notYet reports whether an answer says that the program did not take the input
// within the slice, and that nothing was written.
func notYet(a *answer) bool {
	return a != nil && a.failure.Code == codeNotReady && a.failure.Result == nil
}

// inputFailed returns what is known of an input that failed. out is the answer
// to an earlier request of the same input.
func (m *manager) inputFailed(ctx context.Context, id string, c *call, answer *answer, out procmgr.InputOutput, err error) (procmgr.InputOutput, error) {
	switch {
	case answer != nil && answer.failure.Result != nil && m.isOf(answer.failure.Result.Process, id):
		return procmgr.InputOutput{Output: *answer.failure.Result, Written: answer.failure.Written}, err
	case answer == nil && c.mayHaveArrived && ctx.Err() == nil:
		return out, unknown(xerrors.Errorf("the input may have been written: %w", err))
	}
	return out, m.explain(id, answer, err)
}
