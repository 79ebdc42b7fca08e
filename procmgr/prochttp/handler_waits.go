package prochttp

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	// holdTime is how long a wait outlives a request that named it, for the
	// next one: a round trip, or a connection that was cut.
	holdTime = 2 * time.Second
	// maxHeld is how long a wait may be gone on with.
	maxHeld = 24 * time.Hour
)

// waits are the calls that wait, and the waits that are held between two
// requests. A client waits in slices, since proxies cut what is silent for
// long; were each slice a wait of its own, what is printed between two of them,
// and dropped at once, would be matched by none.
type waits struct {
	max int // calls that wait; negative: no bound
	log *slog.Logger

	mu   sync.Mutex // guards what follows
	n    int        // requests that wait, and waits that are held for none
	held map[waitKey]*heldWait
}

// A waitKey names a held wait. What it waits for is part of its name, so that
// two that differ never share an answer.
type waitKey struct {
	chat, process, name string
	request             procmgr.OutputRequest // without Wait
}

// A heldWait is one that outlives the requests that ask for it.
type heldWait struct {
	cancel context.CancelFunc
	left   time.Duration // for how long it is wanted
	done   chan struct{} // closed once out and err are there
	out    procmgr.Output
	err    error
	from   atomic.Int64 // where it reads from: an offset beyond the end is the end as it was when it began

	// What follows is guarded by waits.mu.
	users  int         // requests that are waiting for it
	expiry *time.Timer // ends it, where there are none
}

// errBusy is the error of a wait for which there is no room.
var errBusy = xerrors.New("end a call that waits, or ask without waiting")

// enter takes a place for a call that waits; release gives it back.
func (w *waits) enter(waits bool) (release func(), ok bool) {
	if !waits {
		return func() {}, true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.take() {
		return nil, false
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.n--
	}, true
}

// take counts one more. The caller holds mu.
func (w *waits) take() bool {
	if w.max >= 0 && w.n >= w.max {
		return false
	}
	w.n++
	return true
}

// join finds a held wait or begins it, for as long as is left of it; 0 is not
// known. Its goroutine ends when the wait does, which leave sees to.
func (w *waits) join(ctx context.Context, m procmgr.Manager, key waitKey, left time.Duration) (held *heldWait, began bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if there := w.held[key]; there != nil {
		if there.users > 0 && !w.take() {
			return nil, false, errBusy
		}
		there.users++
		if there.expiry != nil {
			there.expiry.Stop()
			there.expiry = nil
		}
		return there, false, nil
	}
	if !w.take() {
		return nil, false, errBusy
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if left <= 0 || left > maxHeld {
		left = maxHeld
	}
	begun := &heldWait{cancel: cancel, done: make(chan struct{}), left: left, users: 1}
	begun.from.Store(key.request.From)
	w.held[key] = begun
	go begun.wait(ctx, m, key, w.log)
	return begun, true, nil
}

// wait is the wait itself.
func (h *heldWait) wait(ctx context.Context, m procmgr.Manager, key waitKey, log *slog.Logger) {
	defer close(h.done)
	defer func() {
		if p := recover(); p != nil {
			log.LogAttrs(ctx, slog.LevelError, "panic in a wait", slog.String("panic", fmt.Sprint(p)))
			h.err = errPanicked
		}
	}()
	req := key.request
	if req.From > 0 {
		now, err := m.Output(ctx, key.process, procmgr.OutputRequest{From: req.From, Limit: headtail.Limits{Bytes: 1}})
		if err != nil {
			h.err = err
			return
		}
		req.From = min(req.From, now.Next)
		h.from.Store(req.From)
	}
	req.Wait = h.left
	h.out, h.err = m.Output(ctx, key.process, req)
}

// leave ends a request's part in a held wait; the last one to leave gives it
// holdTime.
func (w *waits) leave(key waitKey, held *heldWait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	held.users--
	if held.users > 0 {
		w.n--
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(holdTime, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if held.expiry != timer {
			return // somebody came back
		}
		held.cancel()
		delete(w.held, key)
		w.n--
	})
	held.expiry = timer
}
