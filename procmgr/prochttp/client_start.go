package prochttp

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/check"
)

// maxRestarts is how many new servers in a row a start may meet.
const maxRestarts = 5

// Start implements [procmgr.Manager]. If the request has no ID, the client chooses
// one, so that it can ask again if an answer is lost.
func (m *manager) Start(ctx context.Context, req procmgr.StartRequest) (_ procmgr.Output, err error) {
	defer func(id string) { err = wrap("start", id, err) }(req.ID) // of the caller, if there is one
	if err := cmp.Or(ctx.Err(), m.check()); err != nil {
		return procmgr.Output{}, err
	}
	own, came := req.ID == "", time.Now()
	if own {
		req.ID = procmgr.NewID()
	}
	if _, err := encode(req); err != nil {
		return procmgr.Output{}, err // nothing was sent
	}
	s := &startCall{manager: m, req: req, began: time.Now()}
	s.call = call{manager: m, id: req.ID, path: pathStart, into: &s.out, body: func() (any, time.Duration) {
		body := req
		body.Wait, body.Age = max(min(req.Wait, m.c.slice), 0), check.Older(req.Age, came)
		if s.call.retry.tries > 0 { // later attempts wait for the time that is left
			body.Wait = m.c.left(req.Wait, s.began)
		}
		if s.up > 0 {
			s.call.up = s.up + time.Since(s.heard)
		}
		return body, body.Wait
	}}
	if err := s.aim(ctx); err != nil {
		return s.failed(ctx, nil, err)
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

// aim finds the server that the start is meant for, and whether the ID was sent before.
func (s *startCall) aim(ctx context.Context) error {
	if s.req.Age <= 0 {
		if s.call.instance, s.asked = s.c.seen.claim(s.chat, s.req.ID); s.call.instance != "" {
			return nil
		}
	}
	// No server has answered yet, and a start without an instance could run twice. Or the
	// server has to know how long the start is on the way.
	answer, err := s.c.call(ctx, &call{manager: &s.c.manager, path: pathHealth})
	if err != nil {
		return err
	}
	s.up, s.heard = answer.up, time.Now()
	s.call.instance, s.asked = s.c.seen.claim(s.chat, s.req.ID)
	return nil
}

// A startCall is a start that the client is sending.
type startCall struct {
	*manager
	req   procmgr.StartRequest // with an ID
	began time.Time
	call  call
	out   procmgr.Output // what the call is answered
	up    time.Duration  // how long the server had been up when it was heard, if that is known
	heard time.Time
	asked bool // another call has sent the ID before
}

// errTurns is the error of a start that meets a new server at each attempt.
var errTurns = xerrors.Errorf("each of %d servers in a row was another one, and nothing was started: do several take turns behind one URL?", maxRestarts)

// send sends a start until it is answered. It moves on to a new server only
// while nothing can have run under the ID, neither on the new server nor on the
// one that the client meant.
func (s *startCall) send(ctx context.Context) (*answer, error) {
	for range maxRestarts {
		answer, err := s.c.call(ctx, &s.call)
		moved := answer != nil && answer.failure.Code == codeRestarted && answer.instance != s.call.instance
		if !moved || s.asked || s.call.retry.phase == unsure || !s.c.seen.forget(s.chat, s.req.ID) {
			return answer, err
		}
		if err := s.aim(ctx); err != nil {
			return nil, err
		}
	}
	return nil, errTurns
}

// begun returns an Output for a process that may have begun, with its ID and
// its chat.
func (s *startCall) begun() procmgr.Output {
	return procmgr.Output{Process: procmgr.Process{ID: s.req.ID, ChatID: s.chat}}
}

// failed returns the Output and the error of a start that failed. The Output has
// an ID if the command may have begun. answer is nil if no answer came.
func (s *startCall) failed(ctx context.Context, answer *answer, err error) (procmgr.Output, error) {
	var f failure
	if answer != nil {
		f = answer.failure
	}
	sure := s.call.retry.phase == unsent
	looked := answer != nil && f.Code != codeClosed && f.Code != codeBusy // for the ID
	if errors.Is(err, procmgr.ErrRefused) {
		looked = f.Code == codeRefused && !s.asked
	}
	switch {
	case f.Code == codeRestarted:
		return s.begun(), xerrors.Errorf("the server was restarted after the command was sent to it: %w", procmgr.ErrUnknown)
	case f.Result != nil && s.isOf(f.Result.Process, s.req.ID):
		return *f.Result, err
	case f.Result != nil, errors.Is(err, procmgr.ErrUnknown):
		return s.begun(), err
	case sure && !s.asked && s.req.Age <= 0:
		s.c.seen.forget(s.chat, s.req.ID)
		return procmgr.Output{}, err
	case errors.Is(err, procmgr.ErrConflict):
		return procmgr.Output{}, err // it holds for every attempt, and for an earlier call too
	case sure && looked:
		return procmgr.Output{}, err // the server does not know of an earlier call either
	case sure && answer != nil, ctx.Err() != nil:
		return s.begun(), err // an earlier call or attempt may have started it, also one of another program
	case answer != nil:
		// The answer says nothing about the attempt before it.
		f = failure{Code: f.Code}
		f.fill()
		return s.begun(), xerrors.Errorf("an attempt got no answer, and the next one this: %s: %w", f.Detail, procmgr.ErrUnknown)
	}
	return s.begun(), unknown(err)
}

// wait reads the answer of a start, and waits for the rest of its time.
func (s *startCall) wait(ctx context.Context, answer *answer) (procmgr.Output, error) {
	out := s.out
	if err := answer.about(s.manager, out.Process, s.req.ID); err != nil {
		return s.begun(), unknown(err)
	}
	left := s.req.Wait - time.Since(s.began)
	if !answer.waiting || left <= 0 {
		return out, nil
	}
	more, err := s.output(ctx, s.req.ID, procmgr.OutputRequest{Wait: left, State: procmgr.Running, UntilWaiting: s.req.UntilWaiting, Limit: s.req.Limit, Highlight: s.req.Highlight})
	if err != nil && more.Process.ID == "" {
		more = out
	}
	more.Attached = out.Attached
	if errors.Is(err, procmgr.ErrNotFound) {
		err = unknown(err) // the process was there before
	}
	return more, err
}

// maxSent is the number of process IDs that a client remembers at least. It is the
// number of tombstones that a Local keeps.
const maxSent = 16384

// instances remembers to which server each process ID was sent. A server that
// was restarted knows none of the IDs, and would run a command again.
type instances struct {
	mu      sync.Mutex // guards the fields below
	current string     // the instance that answered last
	// newer has the IDs that were sent last, up to maxSent, and older has the IDs sent
	// before them.
	newer, older map[processKey]*sentTo
}

type processKey struct{ chat, id string }

// sentTo says to which server an ID was sent.
type sentTo struct {
	instance string
	shared   bool // several calls sent the ID: none of them knows what the others did
}

// find returns to which server an ID was sent, or nil. The caller holds mu.
func (s *instances) find(chat, id string) *sentTo {
	key := processKey{chat, id}
	return cmp.Or(s.newer[key], s.older[key])
}

// claim returns the server to which an ID was sent. If the ID is new, claim
// remembers that it goes to the server that answered last. The instance is "" if
// no server has answered yet.
func (s *instances) claim(chat, id string) (instance string, asked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if to := s.find(chat, id); to != nil {
		to.shared = true
		return to.instance, true
	}
	if s.current == "" {
		return "", false
	}
	if s.newer == nil || len(s.newer) >= maxSent {
		s.newer, s.older = make(map[processKey]*sentTo), s.newer
	}
	s.newer[processKey{chat, id}] = &sentTo{instance: s.current}
	return s.current, false
}

// forget forgets an ID that was not sent, or under which nothing ran. It does
// nothing and reports false if another call may have sent the ID.
func (s *instances) forget(chat, id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if to := s.find(chat, id); to != nil && to.shared {
		return false
	}
	delete(s.newer, processKey{chat, id})
	delete(s.older, processKey{chat, id})
	return true
}

// answered remembers the instance that answered last.
func (s *instances) answered(instance string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = instance
}

// now returns the server that answered last, or "".
func (s *instances) now() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// elsewhere reports whether an ID was sent to another server than this one, which
// may not know it.
func (s *instances) elsewhere(chat, id, instance string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	to := s.find(chat, id)
	return to != nil && to.instance != instance
}
