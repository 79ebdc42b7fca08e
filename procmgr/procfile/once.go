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

// A savedKey is the answer to a request with a key, as one program saves it for the
// next. Those to requests that failed are not saved: they have done nothing.
type savedKey struct {
	Key, What string
	Wrote     *WriteResult `json:",omitempty"`
	Edited    *EditResult  `json:",omitempty"`
}

// SaveKeys returns what the Local remembers of requests with a key, as JSON. It is for
// package prockeep, whose next program goes on with it.
func (l *Local) SaveKeys() []byte {
	l.once.mu.Lock()
	defer l.once.mu.Unlock()
	all := []savedKey{}
	for _, key := range l.once.order {
		call := l.once.calls[key]
		if call == nil {
			continue
		}
		select {
		case <-call.done:
		default:
			continue
		}
		saved := savedKey{Key: key, What: call.what}
		switch res := call.res.(type) {
		case WriteResult:
			saved.Wrote = &res
		case EditResult:
			saved.Edited = &res
		}
		if call.err == nil {
			all = append(all, saved)
		}
	}
	data, _ := json.Marshal(all) // texts and numbers can always be written
	return data
}

// RestoreKeys takes over what SaveKeys has returned. What cannot be read is left out.
func (l *Local) RestoreKeys(data []byte) {
	var all []savedKey
	_ = json.Unmarshal(data, &all)
	for _, saved := range all {
		call, mine := l.once.join(saved.Key, saved.What)
		if !mine {
			continue
		}
		switch {
		case saved.Wrote != nil:
			call.res = *saved.Wrote
		case saved.Edited != nil:
			call.res = *saved.Edited
		}
		close(call.done)
	}
}
