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

// output serves an output, with a wait of at most maxSlice.
func (r *request) output() {
	var body outputBody
	if !r.body(&body) {
		return
	}
	r.id = body.ID
	if body.WaitID != "" {
		if err := checkKey(body.WaitID); err != nil {
			r.failWith(err)
			return
		}
	}
	body.Wait = sliceOf(body.Wait)
	waiting := false
	place := body.Wait > 0 && body.WaitID == "" // a held wait takes one itself
	out, _, err := await(r, body.Wait, place, func(ctx context.Context, wait time.Duration) (out procmgr.Output, err error) {
		if wait > 0 && body.WaitID != "" {
			out, waiting, err = r.heldOutput(ctx, &body)
			return out, err
		}
		body.Wait = wait
		waiting = false // if the server is about to end, the client cannot continue the wait
		return r.manager.Output(ctx, r.id, body.OutputRequest)
	})
	if err == nil && waiting {
		r.w.Header().Set(headerWaiting, "true")
	}
	r.finish(&out, &out, 0, err)
}

// heldOutput waits in a wait that outlives the request: a new one, or the wait
// of an earlier request with the same name. It sets body.From to the offset
// from which that wait reads.
func (r *request) heldOutput(ctx context.Context, body *outputBody) (out procmgr.Output, waiting bool, err error) {
	req := body.OutputRequest
	req.Wait = max(body.Left, body.Wait)
	snapshot := req
	snapshot.Wait, snapshot.State = 0, ""
	key := waitKey{r.chat, r.id, body.WaitID, snapshot}
	held, err := r.h.waits.join(ctx, r.manager, key, req)
	if err != nil {
		return out, false, err
	}
	defer r.h.waits.leave(key, held)
	defer func() { body.From = held.from.Load() }()
	slice := body.Wait
	if req.Wait <= slice {
		// The last one: the wait ends by itself, and knows what it has seen.
		slice += holdTime
	}
	timer := time.NewTimer(slice)
	defer timer.Stop()
	select {
	case <-held.done:
	case <-ctx.Done():
	case <-timer.C:
	}
	select {
	case <-held.done: // comes first, even if the time is up or ctx has ended by now
		return held.out, false, held.err
	default:
	}
	if err := ctx.Err(); err != nil {
		return out, false, err
	}
	snapshot.From, snapshot.Until = held.from.Load(), ""
	out, err = r.manager.Output(ctx, r.id, snapshot)
	if err != nil || body.State == "" || out.Process.State == body.State {
		return out, true, err
	}
	// If the state changed before the wait began, this ends the wait too.
	snapshot.Until = body.Until
	out, err = r.manager.Output(ctx, r.id, snapshot)
	return out, false, err
}

// holdTime is how long a wait goes on after a request that named it, until the next
// request comes. That is enough for a round trip, or for a client to notice that its
// connection was cut.
const holdTime = 2 * time.Second

// waits counts the calls that wait, and has the waits that are held between two
// requests. A client waits in slices, because proxies cut connections that are
// silent for long. If each slice were a wait of its own, none would match output
// that is printed between two slices and dropped at once.
type waits struct {
	max int // the limit of calls that wait; negative: no limit
	log *slog.Logger

	n    atomic.Int64 // requests that wait, and held waits without a request
	mu   sync.Mutex   // guards held
	held map[waitKey]*heldWait
}

// A waitKey names a held wait. The request is part of the name, so that two
// different requests never share an answer.
type waitKey struct {
	chat, process, name string
	request             procmgr.OutputRequest // without Wait and State
}

// A heldWait is a wait that outlives the requests that ask for it.
type heldWait struct {
	cancel context.CancelFunc
	done   chan struct{} // closed once out and err are set
	out    procmgr.Output
	err    error
	from   atomic.Int64 // the offset to read from; one beyond the end becomes the end at the time when the wait began

	// waits.mu guards the fields below.
	users  int         // requests that are waiting for it
	expiry *time.Timer // ends it; set if there are none
}

// errBusy is the error of a call that wants to wait when there is no room.
var errBusy = xerrors.New("nothing was done: end a call that waits, or ask without waiting")

// limited makes a call that waits for at most a time. The context of the call ends with
// the request and with the server. ended reports whether the server's end cut the call
// short: then the request is answered without a wait. If place is set, the call takes
// one of the places for waiting calls. If none is free, the error is errBusy, and the
// call is not made.
func (r *request) limited(wait time.Duration, place bool, call func(context.Context) error) (ended bool, err error) {
	if place {
		if !r.h.waits.enter() {
			return false, errBusy
		}
		defer r.h.waits.exit()
	}
	r.extend(wait)
	ctx, server := r.Context(), r.h.opts.Context
	if server.Done() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(server, cancel)()
	}
	err = call(ctx)
	return err != nil && ctx.Err() != nil && r.Context().Err() == nil, err
}

// await makes a call that waits for at most a time, see limited. If the server's end cuts
// it short, it is made again without a wait. over reports whether its time was up.
func await[T any](r *request, wait time.Duration, place bool, call func(ctx context.Context, wait time.Duration) (T, error)) (answer T, over bool, err error) {
	began := time.Now()
	ended, err := r.limited(wait, place, func(ctx context.Context) (err error) {
		answer, err = call(ctx, wait)
		return err
	})
	over = wait > 0 && time.Since(began) >= wait
	if ended {
		answer, err = call(r.Context(), 0)
	}
	return answer, over && !ended && err == nil, err
}

// enter takes a place for a call that waits, if there is room; exit gives it back.
func (w *waits) enter() bool {
	if w.n.Add(1) > int64(w.max) && w.max >= 0 {
		w.exit()
		return false
	}
	return true
}

func (w *waits) exit() { w.n.Add(-1) }

// join finds a held wait or begins it with a request. The goroutine of a held wait
// ends with the wait; leave ends the wait when no request wants it any more.
func (w *waits) join(ctx context.Context, m procmgr.Manager, key waitKey, req procmgr.OutputRequest) (*heldWait, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	held := w.held[key]
	// A wait without a request has a place, which the next request takes over.
	if (held == nil || held.users > 0) && !w.enter() {
		return nil, errBusy
	}
	if held == nil {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		held = &heldWait{cancel: cancel, done: make(chan struct{})}
		held.from.Store(req.From)
		w.held[key] = held
		go held.wait(ctx, m, key.process, req, w.log)
	}
	held.users++
	if held.expiry != nil {
		held.expiry.Stop()
		held.expiry = nil
	}
	return held, nil
}

// wait waits, and sets out and err.
func (h *heldWait) wait(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest, log *slog.Logger) {
	defer close(h.done)
	defer func() {
		if p := recover(); p != nil {
			log.LogAttrs(ctx, slog.LevelError, "panic in a wait", slog.String("panic", fmt.Sprint(p)))
			h.err = errPanicked
		}
	}()
	if req.From > 0 {
		now, err := m.Output(ctx, id, procmgr.OutputRequest{From: req.From, Limit: headtail.Limits{Bytes: 1}})
		if err != nil {
			h.err = err
			return
		}
		req.From = min(req.From, now.Next)
		h.from.Store(req.From)
	}
	h.out, h.err = m.Output(ctx, id, req)
}

// leave ends a request's use of a held wait. After the last request has left,
// the wait ends in holdTime, unless another request comes.
func (w *waits) leave(key waitKey, held *heldWait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if held.users--; held.users > 0 {
		w.exit()
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(holdTime, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if held.expiry != timer {
			return // another request has come
		}
		held.cancel()
		delete(w.held, key)
		w.exit()
	})
	held.expiry = timer
}
