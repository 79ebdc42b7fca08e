package prochttp

import (
	"context"
	"errors"
	"net/http"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// maxRestarts is how many new servers in a row a start may meet.
const maxRestarts = 5

// A starting is a start that the client is sending.
type starting struct {
	*manager
	req   procmgr.StartRequest // with an ID
	body  startBody
	until time.Time // the end of its wait
	call  call
	out   procmgr.Output // what the call is answered
	asked bool           // another call has sent the ID before
}

// start starts a command. If the caller gives no ID, start chooses one, so that
// it can ask again if an answer is lost.
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
	s, err := m.newStarting(ctx, req)
	if err != nil {
		return procmgr.Output{}, err // nothing was sent
	}
	answer, err := s.send(ctx)
	if err != nil {
		return s.failed(ctx, answer, err)
	}
	out, err := s.wait(ctx, answer)
	if own {
		out.Attached = false // it has found only an attempt of this call
	}
	return out, err
}

// newStarting makes the call of a start, and finds the server that it is for.
func (m *manager) newStarting(ctx context.Context, req procmgr.StartRequest) (*starting, error) {
	body, err := newStartBody(req)
	if err != nil {
		return nil, err
	}
	s := &starting{manager: m, req: req, body: body, until: time.Now().Add(req.Wait)}
	s.call = call{manager: m, id: req.ID, method: http.MethodPost, path: pathStart, into: &s.out, prepare: s.prepare}
	if s.call.instance, s.asked, err = m.instanceFor(ctx, req.ID); err != nil {
		return nil, err
	}
	return s, nil
}

// prepare makes the body of an attempt. Later ones wait for the time that is
// left.
func (s *starting) prepare() {
	left := s.req.Wait
	if s.call.body != nil {
		left = time.Until(s.until)
	}
	s.call.wait = max(min(left, s.c.slice), 0)
	s.call.body = s.body.encode(s.call.wait)
}

// instanceFor returns the server that a start is meant for. asked reports
// whether the ID was sent before.
func (m *manager) instanceFor(ctx context.Context, id string) (instance string, asked bool, err error) {
	if instance, asked = m.c.seen.claim(m.chat, id); instance != "" {
		return instance, asked, nil
	}
	// No server has answered yet: a start without an instance could run twice.
	host := &manager{c: m.c}
	if _, err := m.c.call(ctx, &call{manager: host, method: http.MethodGet, path: pathHealth}); err != nil {
		return "", false, err
	}
	instance, asked = m.c.seen.claim(m.chat, id)
	return instance, asked, nil
}

// errTurns is the error of a start that meets a new server at each attempt.
var errTurns = xerrors.Errorf("each of %d servers in a row was another one, and nothing was started: do several take turns behind one URL?", maxRestarts)

// send sends a start until it is answered. It moves on to a new server only
// while nothing can have run under the ID, neither on the new server nor on the
// one that the client meant.
func (s *starting) send(ctx context.Context) (*answer, error) {
	for range maxRestarts {
		answer, err := s.c.call(ctx, &s.call)
		moved := answer != nil && answer.failure.Code == codeRestarted && answer.instance != s.call.instance
		if !moved || s.asked || s.call.mayHaveArrived || !s.c.seen.move(s.chat, s.req.ID, answer.instance) {
			return answer, err
		}
		s.call.instance = answer.instance
	}
	return nil, errTurns
}

// begun returns an Output for a process that may have begun, with its ID and
// its chat.
func (s *starting) begun() procmgr.Output {
	return procmgr.Output{Process: procmgr.Process{ID: s.req.ID, ChatID: s.chat}}
}

// failed returns the Output and the error of a start that failed. The Output has
// an ID if the command may have begun. answer is nil if no answer came.
func (s *starting) failed(ctx context.Context, answer *answer, err error) (procmgr.Output, error) {
	switch {
	case answer != nil && answer.failure.Code == codeRestarted:
		return s.begun(), xerrors.Errorf("the server was restarted after the command was sent to it: %w", procmgr.ErrUnknown)
	case answer != nil && answer.failure.Result != nil:
		if out := *answer.failure.Result; s.isOf(out.Process, s.req.ID) {
			return out, err
		}
		return s.begun(), err
	case errors.Is(err, procmgr.ErrUnknown):
		return s.begun(), err
	case !s.call.mayHaveArrived && !s.asked:
		s.c.seen.forget(s.chat, s.req.ID)
		return procmgr.Output{}, err
	case errors.Is(err, procmgr.ErrConflict):
		return procmgr.Output{}, err // it holds for every attempt, and for an earlier call too
	case !s.call.mayHaveArrived && answer != nil && answer.failure.Code != codeClosed && !errors.Is(err, procmgr.ErrRefused):
		return procmgr.Output{}, err // the server does not know of an earlier call either
	case !s.call.mayHaveArrived && answer != nil, ctx.Err() != nil:
		return s.begun(), err // an earlier call or attempt may have started it
	case answer != nil:
		// The answer says nothing about the attempt before it.
		_, message := answer.failure.Code.status()
		return s.begun(), xerrors.Errorf("an attempt got no answer, and the next one this: %s: %w", message, procmgr.ErrUnknown)
	}
	return s.begun(), unknown(err)
}

// wait reads the answer of a start, and waits for the rest of its time.
func (s *starting) wait(ctx context.Context, answer *answer) (procmgr.Output, error) {
	out := s.out
	if err := answer.about(s.manager, out.Process, s.req.ID); err != nil {
		return s.begun(), unknown(err)
	}
	left := time.Until(s.until)
	if !answer.waiting || left <= 0 {
		return out, nil
	}
	more, err := s.output(ctx, s.req.ID, procmgr.OutputRequest{Wait: left, State: procmgr.Running, UntilWaiting: s.req.UntilWaiting, Limit: s.req.Limit})
	if err != nil && more.Process.ID == "" {
		more = out
	}
	more.Attached = out.Attached
	if errors.Is(err, procmgr.ErrNotFound) {
		err = unknown(err) // the process was there before
	}
	return more, err
}
