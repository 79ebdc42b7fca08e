package procfile

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// mostKeys is how many answers are remembered by their keys.
const mostKeys = 1024

// once remembers the answers to requests that have a key.
type once struct {
	mu    sync.Mutex // guards the fields below
	calls map[string]*onceCall
	order []string // oldest first
}

type onceCall struct {
	what string        // what the request was for, so that a key is for one
	done chan struct{} // closed once the fields below are set
	res  any
	err  error
}

// keyed returns what a request is for.
func keyed(what ...any) string {
	data, _ := json.Marshal(what) // of strings and flags alone, so there is no error
	return versionOf(data)
}

// doOnce carries out a request, or returns the answer to the same request. A request
// whose context ended before it did anything is not remembered.
func doOnce[T any](ctx context.Context, o *once, key, what string, do func() (T, error)) (res T, err error) {
	if key == "" {
		return do()
	}
	if len(key) > MaxKey || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return res, xerrors.Errorf("a key has up to %d printable ASCII characters: %w", MaxKey, procmgr.ErrInvalid)
	}
	for {
		call, mine := o.join(key, what)
		if mine {
			defer func() {
				if call.res = res; err != nil && ctx.Err() != nil {
					o.forget(key)
				}
				call.err = err
				close(call.done)
			}()
			err = xerrors.Errorf("the write has panicked: %w", procmgr.ErrUnknown) // in case it does
			return do()
		}
		if call.what != what {
			return res, xerrors.Errorf("the key was used for another request: %w", procmgr.ErrConflict)
		}
		select {
		case <-call.done:
		case <-ctx.Done():
			return res, ctx.Err()
		}
		if !o.knows(key, call) {
			continue // its caller went away before anything was done
		}
		res, _ = call.res.(T)
		return res, call.err
	}
}

// join returns the call of a key, and whether it is the caller's to do.
func (o *once) join(key, what string) (call *onceCall, mine bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if call := o.calls[key]; call != nil {
		return call, false
	}
	if len(o.order) >= mostKeys {
		delete(o.calls, o.order[0])
		o.order = o.order[1:]
	}
	if o.calls == nil {
		o.calls = make(map[string]*onceCall)
	}
	call = &onceCall{what: what, done: make(chan struct{})}
	o.calls[key] = call
	o.order = append(o.order, key)
	return call, true
}

func (o *once) knows(key string, call *onceCall) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.calls[key] == call
}

func (o *once) forget(key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.calls, key)
}
