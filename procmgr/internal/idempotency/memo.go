// Package idempotency carries out a request once, however often it is sent: because an answer
// was lost, or because two callers send the same one at the same instant.
package idempotency

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"sync"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// A Fingerprint tells whether two requests ask for the same.
type Fingerprint [sha256.Size]byte

// FingerprintOf returns the fingerprint of a request with these parts.
func FingerprintOf(parts ...string) Fingerprint {
	h := sha256.New()
	for _, part := range parts {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write([]byte(part))
	}
	return Fingerprint(h.Sum(nil))
}

// OfStart returns the fingerprint of a start. It leaves out the variables of the W3C trace
// context: they identify the caller, which is another span each time.
func OfStart(req procmgr.StartRequest) Fingerprint {
	parts := []string{req.Command, req.WorkDir, string(req.Stdin)}
	for _, name := range slices.Sorted(maps.Keys(req.Env)) {
		if name != "TRACEPARENT" && name != "TRACESTATE" {
			parts = append(parts, name, req.Env[name])
		}
	}
	return FingerprintOf(parts...)
}

// A Memo remembers the answers to the newest requests by their idempotency keys. It is
// safe for concurrent use.
type Memo[T any] struct {
	Max int // how many answers are remembered

	mu    sync.Mutex // guards the fields below
	calls map[string]*call[T]
	order []*call[T] // the oldest first
}

type call[T any] struct {
	key     string
	of      Fingerprint
	done    chan struct{} // closed once the fields below are set
	answer  T
	refused bool
}

// Do carries out a request, unless one with its key was carried out before: then Do
// returns that answer, and waits for it if it is still under way. Without a key, a
// request is always carried out. do fills in the answer, also as far as it gets if it
// panics. If it refuses the request, having done nothing, the key stays unused. The error
// is ctx's, or [procmgr.ErrConflict] if the key belongs to another request.
func (m *Memo[T]) Do(ctx context.Context, key string, of Fingerprint, do func(answer *T) (refused bool)) (*T, error) {
	if key == "" {
		answer := new(T)
		do(answer)
		return answer, nil
	}
	for {
		c, mine := m.join(key, of)
		if mine {
			defer m.leave(c)
			c.refused = do(&c.answer)
			return &c.answer, nil
		}
		if c.of != of {
			return nil, xerrors.Errorf("this key belongs to another request; take another key: %w", procmgr.ErrConflict)
		}
		select {
		case <-c.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if !c.refused {
			return &c.answer, nil
		}
	}
}

// join returns the call with a key. mine reports that there was none, so that the
// caller carries it out.
func (m *Memo[T]) join(key string, of Fingerprint) (c *call[T], mine bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.calls[key]; c != nil {
		return c, false
	}
	if m.calls == nil {
		m.calls = make(map[string]*call[T])
	}
	c = &call[T]{key: key, of: of, done: make(chan struct{})}
	m.calls[key] = c
	m.order = append(m.order, c)
	for i := 0; len(m.order) > m.Max && i < len(m.order); {
		select {
		case <-m.order[i].done:
			m.remove(i)
		default:
			i++ // it is under way
		}
	}
	return c, true
}

// leave ends a call.
func (m *Memo[T]) leave(c *call[T]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c.refused {
		m.remove(slices.Index(m.order, c))
	}
	close(c.done)
}

// remove forgets a call. The caller holds mu.
func (m *Memo[T]) remove(i int) {
	delete(m.calls, m.order[i].key)
	m.order = slices.Delete(m.order, i, i+1)
}
