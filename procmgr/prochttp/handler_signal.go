package prochttp

import (
	"context"
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
	r.extend(signalTime)
	send := func(ctx context.Context) error {
		return r.manager.Signal(context.WithValue(ctx, forwardedKey{}, key), r.id, body.Signal)
	}
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

// errPanicked is the answer to a repeated request if the host panicked.
var errPanicked = xerrors.New("the host panicked")
