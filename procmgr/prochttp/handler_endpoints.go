package prochttp

import (
	"context"
	"errors"
	"net/http"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// start serves a start: the command, a limited wait and the output so far in one
// round trip.
func (q *request) start() {
	var body startBody
	if !q.body(&body) {
		return
	}
	req, err := body.request()
	if err != nil {
		q.failWith(err, nil)
		return
	}
	q.id = req.ID
	if meant := q.Header.Get(headerInstance); meant != "" && meant != q.h.instance {
		q.fail(failure{Code: codeRestarted, Detail: "nothing was started; what ran before is not known here"})
		return
	}
	if q.h.opts.Context.Err() != nil {
		q.fail(failure{Code: codeClosed, Detail: "the server is shutting down, nothing was started"})
		return
	}
	req.Wait = min(req.Wait, maxSlice)
	release, ok := q.h.waits.enter(req.Wait > 0)
	if !ok {
		q.fail(failure{Code: codeBusy, Detail: "nothing was started; " + errBusy.Error()})
		return
	}
	defer release()
	q.extend(req.Wait)

	ctx, done := q.h.untilShutdown(q.Context())
	defer done()
	out, err := q.manager.Start(ctx, req)
	if out.Process.ID != "" {
		q.id = out.Process.ID
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil && q.Context().Err() == nil {
		// The shutdown ended the wait, not the command.
		if out.Process.ID == "" {
			q.fail(failure{Code: codeClosed, Detail: "the server is shutting down, nothing was started"})
			return
		}
		now, failed := q.manager.Output(q.Context(), q.id, procmgr.OutputRequest{Limit: req.Limit})
		if failed == nil {
			now.Attached = out.Attached
			out, err = now, nil
		} else {
			err = unknown(err) // if the host is a client, the start may still be on its way
		}
	}
	if err == nil && req.Wait > 0 && out.Process.State == procmgr.Running && q.h.opts.Context.Err() == nil {
		q.w.Header().Set(headerWaiting, "true")
	}
	q.finish(out, err)
}

// untilShutdown returns a context that ends with ctx and with the server.
func (h *handler) untilShutdown(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(h.opts.Context, cancel)
	return ctx, func() { stop(); cancel() }
}

// list serves a list.
func (q *request) list() {
	all, err := q.manager.List(q.Context())
	if err != nil {
		q.failWith(err, nil)
		return
	}
	for _, p := range all {
		if !q.mine(p) {
			return
		}
	}
	if all == nil {
		all = []procmgr.Process{} // never null
	}
	q.answer(http.StatusOK, listBody{Processes: all})
}

// shell serves the name of the shell that runs the commands.
func (q *request) shell() {
	name, err := procmgr.Shell(q.Context(), q.manager)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		q.failWith(err, nil)
		return
	}
	q.answer(http.StatusOK, shellBody{Shell: name})
}

// signal serves a signal. It sends the signals of all requests with the same key
// only once: a second SIGINT makes many programs give up their clean-up.
func (q *request) signal() {
	var body signalBody
	if !q.body(&body) {
		return
	}
	key := q.Header.Get(headerKey)
	if key != "" {
		if err := checkKey(key); err != nil {
			q.failWith(err, nil)
			return
		}
	}
	q.extend(signalTime)
	send := func(ctx context.Context) error { return q.manager.Signal(ctx, q.id, body.Signal) }
	err := q.h.signals.once(q.Context(), signalKey{q.chat, q.id, body.Signal, key}, send)
	if err != nil {
		q.failWith(err, nil)
		return
	}
	q.answer(http.StatusOK, struct{}{})
}

// finish answers with an output. If there is an error, it answers with the
// error and the output that came with it.
func (q *request) finish(out procmgr.Output, err error) {
	if p := out.Process; p.ID != "" && (err == nil || p.ChatID != "") && !q.mine(p) {
		return
	}
	switch {
	case err == nil:
		q.answer(http.StatusOK, out)
	case out.Process.ID != "":
		q.failWith(err, &out)
	default:
		q.failWith(err, nil)
	}
}

// mine reports whether a process belongs to the request's chat. If a Host mixes
// up chats, mine replaces its answer by an error.
func (q *request) mine(p procmgr.Process) bool {
	if q.chat == "" || p.ChatID == q.chat {
		return true
	}
	q.failWith(xerrors.New("the host answered for another chat"), q.mayHaveBegun())
	return false
}
