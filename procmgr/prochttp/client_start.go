package prochttp

import (
	"context"
	"errors"
	"net/http"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// start starts a command under an ID, its caller's or one of its own, so that
// it can ask again for an answer that was lost.
func (m *manager) start(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	if err := ctx.Err(); err != nil {
		return procmgr.Output{}, err
	}
	if err := m.check(); err != nil {
		return procmgr.Output{}, err
	}
	own := req.ID == ""
	if own {
		req.ID = procmgr.NewID()
	}
	until := time.Now().Add(req.Wait)
	body, err := newStartBody(req)
	if err != nil {
		return procmgr.Output{}, err
	}
	instance, asked, err := m.c.instanceFor(ctx, m.chat, req.ID)
	if err != nil {
		return procmgr.Output{}, err // nothing was sent
	}

	// What may be known of the process, where it may have begun.
	begun := procmgr.Output{Process: procmgr.Process{ID: req.ID, ChatID: m.chat}}
	c := &call{
		manager:  m,
		id:       req.ID,
		method:   http.MethodPost,
		path:     pathStart,
		instance: instance,
	}
	again := false
	c.prepare = func() {
		left := req.Wait
		if again {
			left = time.Until(until)
		}
		again = true
		c.wait = max(min(left, m.c.slice), 0)
		c.body = body.encode(c.wait)
	}
	var answer *answer
	for range maxRestarts {
		answer, err = m.c.call(ctx, c)
		restarted := answer != nil && answer.failure.Code == codeRestarted
		if !restarted || asked || c.mayHaveArrived {
			break
		}
		// Nothing has run under this ID, neither here nor where the client
		// believed to be.
		if !m.c.seen.move(m.chat, req.ID, answer.instance) {
			break
		}
		c.instance = answer.instance
	}
	switch {
	case err == nil:
	case answer != nil && answer.failure.Code == codeRestarted:
		return begun, xerrors.Errorf("the server was restarted after the command was sent to it: %w", procmgr.ErrUnknown)
	case answer != nil && answer.failure.Result != nil:
		if out := *answer.failure.Result; m.isOf(out.Process, req.ID) {
			return out, err
		}
		return begun, err
	case errors.Is(err, procmgr.ErrUnknown):
		return begun, err
	case !c.mayHaveArrived:
		if !asked {
			m.c.seen.forget(m.chat, req.ID)
		}
		return procmgr.Output{}, err
	case ctx.Err() != nil, errors.Is(err, procmgr.ErrConflict):
		return begun, err // a conflict is every attempt's
	case answer != nil:
		// It says nothing of the attempt before it.
		_, message := answer.failure.Code.status()
		return begun, xerrors.Errorf("an attempt got no answer, and the next one this: %s: %w", message, procmgr.ErrUnknown)
	default:
		return begun, unknown(err)
	}

	out, err := answer.output(m, req.ID)
	if err != nil {
		return begun, unknown(err)
	}
	attached := out.Process.Attached && !own // an attempt of this call is no other call
	if left := time.Until(until); answer.waiting && left > 0 {
		more, err := m.output(ctx, req.ID, procmgr.OutputRequest{Wait: left, Limit: req.Limit}, procmgr.Running)
		if err != nil {
			if more.Process.ID == "" {
				more = out
			}
			more.Process.Attached = attached
			if errors.Is(err, procmgr.ErrNotFound) {
				err = unknown(err) // it was there
			}
			return more, err
		}
		out = more
	}
	out.Process.Attached = attached
	return out, nil
}

// maxRestarts is how many servers in a row may turn out to be new ones.
const maxRestarts = 5

// output reads what a process has printed. It waits in slices. state is what
// the caller knows of the process, or "".
func (m *manager) output(ctx context.Context, id string, req procmgr.OutputRequest, state procmgr.State) (procmgr.Output, error) {
	if err := m.check(); err != nil {
		return procmgr.Output{}, err
	}
	switch {
	case id == "" || len(id) > maxPath:
		return procmgr.Output{}, procmgr.ErrNotFound
	case len(req.Until) > maxPath:
		return procmgr.Output{}, xerrors.Errorf("the pattern has %d bytes: %w", len(req.Until), procmgr.ErrInvalid)
	}
	query := outputQuery{OutputRequest: req, State: state}
	if req.Until != "" || req.Wait > m.c.slice || state != "" {
		query.WaitID = newKey()
	}
	began := time.Now()
	var last procmgr.Output
	for {
		c := &call{manager: m, id: id, method: http.MethodGet, path: processPath(id, "output")}
		c.prepare = func() {
			query.Wait = max(min(req.Wait-time.Since(began), m.c.slice), 0)
			c.wait = query.Wait
			c.query = query.encode()
		}
		answer, err := m.c.call(ctx, c)
		if err != nil {
			if answer != nil && answer.failure.Result != nil && m.isOf(answer.failure.Result.Process, id) {
				last = *answer.failure.Result
			}
			return last, m.c.seen.explain(m.chat, id, err)
		}
		out, err := answer.output(m, id)
		if err != nil {
			return last, err
		}
		changed := query.State != "" && out.Process.State != query.State
		if !answer.waiting || changed || time.Since(began) >= req.Wait {
			return out, nil
		}
		last, query.State = out, out.Process.State
	}
}

// unknown is the error of a start that may have happened.
func unknown(err error) error {
	if errors.Is(err, procmgr.ErrUnknown) {
		return err
	}
	return xerrors.Errorf("%v: %w", err, procmgr.ErrUnknown)
}
