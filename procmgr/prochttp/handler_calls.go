package prochttp

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/check"
	"github.com/toolproc/toolproc/procmgr/internal/idempotency"
)

// start serves a start: the command, a limited wait and the output so far in one
// round trip.
func (r *request) start() {
	var req procmgr.StartRequest
	if !r.body(&req) {
		return
	}
	r.id = req.ID
	if meant := r.Header.Get(headerInstance); meant != "" && meant != r.h.instance {
		r.fail(failure{Code: codeRestarted})
		return
	}
	if r.h.opts.Context.Err() != nil {
		r.fail(failure{Code: codeClosed, Detail: "the server is shutting down, nothing was started"})
		return
	}
	req.Wait = sliceOf(req.Wait)
	if up, err := time.ParseDuration(r.Header.Get(headerUp)); err == nil {
		req.Age = check.Aged(req.Age, time.Since(r.h.began)-up)
	}
	var out procmgr.Output
	ended, err := r.limited(req.Wait, req.Wait > 0, func(ctx context.Context) (err error) {
		out, err = r.manager.Start(ctx, req)
		return err
	})
	if out.Process.ID != "" {
		r.id = out.Process.ID
	}
	if ended && errors.Is(err, context.Canceled) {
		// The shutdown ended the wait, not the command.
		if out.Process.ID == "" {
			r.fail(failure{Code: codeClosed, Detail: "the server is shutting down, nothing was started"})
			return
		}
		now, failed := r.manager.Output(r.Context(), r.id, procmgr.OutputRequest{Limit: req.Limit, Highlight: req.Highlight})
		if failed == nil {
			now.Attached = out.Attached
			out, err = now, nil
		} else {
			err = unknown(err) // if the host is a client, the start may still be on its way
		}
	}
	asks := req.UntilWaiting && out.Process.Waiting != nil
	if err == nil && req.Wait > 0 && out.Process.State == procmgr.Running && !asks && r.h.opts.Context.Err() == nil {
		r.w.Header().Set(headerWaiting, "true")
	}
	r.finish(&out, &out, 0, err)
}

// input serves an input, with a wait of at most maxSlice. The process itself
// remembers the keys, so a repeated request writes nothing, whichever handler it
// comes through.
func (r *request) input() {
	var body inputBody
	if !r.body(&body) {
		return
	}
	r.id = body.ID
	req := body.InputRequest
	if req.IdempotencyKey == "" {
		req.IdempotencyKey = newKey()
	}
	slice := sliceOf(req.Wait)
	out, over, err := await(r, slice, slice > 0, func(ctx context.Context, wait time.Duration) (procmgr.InputOutput, error) {
		req.Wait = wait // 0 tells what was written by then
		return r.manager.Input(ctx, r.id, req)
	})
	if over && !out.Matched && !(req.UntilWaiting && out.Process.Waiting != nil) {
		r.w.Header().Set(headerWaiting, "true")
	}
	r.finish(&out, &out.Output, out.Written, err)
}

// maxSignals is how many answers to signals the handler remembers.
const maxSignals = 4096

// signal serves a signal. It sends the signals of all requests with the same key
// only once: a second SIGINT makes many programs give up their clean-up. The sending
// goes on when the request ends, because a caller whose connection was cut asks again
// for the answer.
func (r *request) signal() {
	var body signalBody
	if !r.body(&body) {
		return
	}
	r.id = body.ID
	if err := cmp.Or(check.Signal(body.Signal), check.ID(r.id)); err != nil {
		r.failWith(err)
		return
	}
	ctx, key := r.Context(), r.Header.Get(headerKey)
	if key != "" {
		if err := checkKey(key); err != nil {
			r.failWith(err)
			return
		}
		var cancel func()
		ctx, cancel = context.WithTimeout(context.WithValue(context.WithoutCancel(ctx), forwardedKey{}, key), signalTime)
		defer cancel()
		key = strings.Join([]string{key, string(body.Signal), r.chat, r.id}, "\x00")
	}
	r.extend(signalTime)
	sent, err := r.h.signals.Do(r.Context(), key, idempotency.Fingerprint{}, func(sent *error) (refused bool) {
		*sent = errPanicked // in case Signal panics
		*sent = r.manager.Signal(ctx, r.id, body.Signal)
		return false
	})
	if err == nil {
		err = *sent
	}
	if err != nil {
		r.failWith(err)
		return
	}
	r.answer(http.StatusOK, struct{}{})
}

// errPanicked is the answer to a repeated request if the host panicked.
var errPanicked = xerrors.New("the host panicked")

// describe serves what is known of the machine.
func (r *request) describe() {
	if !r.body(&struct{}{}) {
		return
	}
	d, err := r.manager.Describe(r.Context())
	if err != nil {
		r.failWith(err)
		return
	}
	r.answer(http.StatusOK, d)
}

// list serves a list: the processes that the request asks for, and the counts.
func (r *request) list() {
	var req procmgr.ListRequest
	if !r.body(&req) {
		return
	}
	page, err := r.manager.List(r.Context(), req)
	for i := range page.Processes {
		if !r.mine(&page.Processes[i]) {
			return
		}
	}
	if page.Processes == nil {
		page.Processes = []procmgr.Process{} // never null
	}
	r.finishPage(&page, &page, nil, err)
}

// events serves a page of events, with a wait of at most maxSlice. A wait needs
// not be held between two requests: reading takes no event away.
func (r *request) events() {
	var req procmgr.EventsRequest
	if !r.body(&req) {
		return
	}
	slice := sliceOf(req.Wait)
	page, over, err := await(r, slice, slice > 0, func(ctx context.Context, wait time.Duration) (procmgr.EventPage, error) {
		req.Wait = wait
		return r.manager.Events(ctx, req)
	})
	for i := range page.Events {
		if !r.mine(&page.Events[i].Process) {
			return
		}
	}
	if page.Events == nil {
		page.Events = []procmgr.Event{} // never null
	}
	if over && len(page.Events) == 0 && !page.Gap {
		r.w.Header().Set(headerWaiting, "true")
	}
	r.finishPage(&page, nil, &page, err)
}

// finishPage answers with one of two kinds of pages. If some machines are missing, it
// answers with the error and the page of the others.
func (r *request) finishPage(page any, list *procmgr.ListPage, events *procmgr.EventPage, err error) {
	if err == nil {
		r.answer(http.StatusOK, page)
		return
	}
	f := failureOf(err)
	if f.Code == codePartial {
		f.List, f.Page = list, events
	}
	r.fail(f)
}
