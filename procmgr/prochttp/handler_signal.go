package prochttp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

const (
	// maxSignals is how many answers to signals the handler remembers.
	maxSignals = 4096
	// signalMemory is how long it remembers each answer. This is longer than a
	// client repeats a request.
	signalMemory = 5 * time.Minute
)

// signal serves a signal. It sends the signals of all requests with the same key
// only once: a second SIGINT makes many programs give up their clean-up.
func (r *request) signal() {
	var body signalBody
	if !r.body(&body) {
		return
	}
	key := r.Header.Get(headerKey)
	if key != "" {
		if err := checkKey(key); err != nil {
			r.failWith(err, nil)
			return
		}
	}
	if r.forDead() {
		r.fail(failure{Code: codeRestarted, Detail: "an earlier attempt may have sent the signal, and this one has not"})
		return
	}
	r.extend(signalTime)
	send := func(ctx context.Context) error { return r.manager.Signal(ctx, r.id, body.Signal) }
	err := r.h.signals.once(r.Context(), signalKey{r.chat, r.id, body.Signal, key}, send)
	if err != nil {
		r.failWith(err, nil)
		return
	}
	r.answer(http.StatusOK, struct{}{})
}

// signals remembers the answers to signals that have a key.
type signals struct {
	mu    sync.Mutex // guards the fields below
	calls map[signalKey]*signalCall
	order []*signalCall // oldest first
}

type signalKey struct {
	chat, process string
	signal        procmgr.Signal
	key           string
}

type signalCall struct {
	key   signalKey
	began time.Time
	done  chan struct{} // closed once err is set
	err   error
}

// once sends a signal, or waits for the answer to the same signal. The sending
// goes on when the request ends, because a caller whose connection was cut asks
// again for the answer.
func (s *signals) once(ctx context.Context, key signalKey, send func(context.Context) error) error {
	if key.key == "" {
		return send(ctx)
	}
	call, mine := s.join(key)
	if mine {
		defer close(call.done)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), signalTime)
		defer cancel()
		call.err = errPanicked // in case send panics
		call.err = send(ctx)
		return call.err
	}
	select {
	case <-call.done:
		return call.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *signals) join(key signalKey) (call *signalCall, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if call := s.calls[key]; call != nil {
		return call, false
	}
	now := time.Now()
	for len(s.order) > 0 && (len(s.order) >= maxSignals || now.Sub(s.order[0].began) > signalMemory) {
		delete(s.calls, s.order[0].key)
		s.order[0] = nil
		s.order = s.order[1:]
	}
	call = &signalCall{key: key, began: now, done: make(chan struct{})}
	s.calls[key] = call
	s.order = append(s.order, call)
	return call, true
}

// A savedSignal is an answer to a signal, as one handler saves it for the next.
type savedSignal struct {
	Chat, Process string
	Signal        procmgr.Signal
	Key           string
	Began         time.Time
	Failed        *failure `json:",omitempty"`
}

// save returns the answers that are there.
func (s *signals) save() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []savedSignal
	for _, call := range s.order {
		select {
		case <-call.done:
		default:
			continue
		}
		if errors.Is(call.err, procmgr.ErrClosed) {
			continue // the next handler's host is not closed
		}
		saved := savedSignal{Chat: call.key.chat, Process: call.key.process, Signal: call.key.signal, Key: call.key.key, Began: call.began}
		if call.err != nil {
			f := failureOf(call.err)
			saved.Failed = &f
		}
		all = append(all, saved)
	}
	data, _ := json.Marshal(all) // strings and numbers can always be written
	return data
}

// restore takes over answers that were saved. What cannot be read is left out.
func (s *signals) restore(data []byte) {
	var all []savedSignal
	_ = json.Unmarshal(data, &all)
	for _, saved := range all {
		call := &signalCall{key: signalKey{saved.Chat, saved.Process, saved.Signal, saved.Key}, began: saved.Began, done: make(chan struct{})}
		if saved.Failed != nil {
			call.err = saved.Failed.err()
		}
		close(call.done)
		s.calls[call.key] = call
		s.order = append(s.order, call)
	}
}

// errPanicked is the answer to a repeated request if the host panicked.
var errPanicked = xerrors.New("the host panicked")
