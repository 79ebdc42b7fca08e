package prochttp

import (
	"context"
	"errors"
	"net/http"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/lineage"
)

// start serves a start: the command, a limited wait and the output so far in one
// round trip.
func (r *request) start() {
	var body startBody
	if !r.body(&body) {
		return
	}
	req, err := body.request()
	if err != nil {
		r.failWith(err, nil)
		return
	}
	base, err := r.base(&body)
	if err != nil {
		r.failWith(err, nil)
		return
	}
	r.id = req.ID
	if meant := r.Header.Get(headerInstance); meant != "" && meant != r.h.instance {
		detail := "nothing was started; what ran before is not known here"
		if r.forDead() {
			detail = "this request has started nothing"
		}
		r.fail(failure{Code: codeRestarted, Detail: detail})
		return
	}
	if r.h.opts.Context.Err() != nil {
		r.fail(failure{Code: codeClosed, Detail: "the server is shutting down, nothing was started"})
		return
	}
	if base, err = r.h.bases.whole(base); err != nil {
		r.fail(failure{Code: codeNoBase, Detail: "nothing was started; send base_env and base_withheld"})
		return
	}
	req.Wait = min(req.Wait, maxSlice)
	var out procmgr.Output
	ended, err := r.limited(req.Wait, req.Wait > 0, func(ctx context.Context) (err error) {
		out, err = r.from(base).Start(ctx, req)
		return err
	})
	if errors.Is(err, errBusy) {
		r.fail(failure{Code: codeBusy, Detail: "nothing was started; " + errBusy.Error()})
		return
	}
	if out.Process.ID != "" {
		r.id = out.Process.ID
	}
	if ended && errors.Is(err, context.Canceled) {
		// The shutdown ended the wait, not the command.
		if out.Process.ID == "" {
			r.fail(failure{Code: codeClosed, Detail: "the server is shutting down, nothing was started"})
			return
		}
		now, failed := r.manager.Output(r.Context(), r.id, procmgr.OutputRequest{Limit: req.Limit})
		if failed == nil {
			now.Attached = out.Attached
			out, err = now, nil
		} else {
			err = unknown(err) // if the host is a client, the start may still be on its way
		}
	}
	if err == nil && req.Wait > 0 && out.Process.State == procmgr.Running && r.h.opts.Context.Err() == nil {
		r.w.Header().Set(headerWaiting, "true")
	}
	r.finish(&out, err)
}

// list serves a list: the processes that the query asks for, and the counts.
func (r *request) list() {
	var query listQuery
	if err := query.parameters().parse(r.URL.RawQuery); err != nil {
		r.failWith(err, nil)
		return
	}
	page, err := r.manager.List(r.Context(), procmgr.ListRequest(query))
	body := listBody(page)
	var partial *procmgr.PartialError
	if err != nil && !errors.As(err, &partial) {
		r.failWith(err, nil)
		return
	}
	for i := range body.Processes {
		if !r.mine(&body.Processes[i]) {
			return
		}
	}
	if body.Processes == nil {
		body.Processes = []procmgr.Process{} // never null
	}
	if partial != nil {
		f := failureOf(err)
		f.List = &body
		r.fail(f)
		return
	}
	r.answer(http.StatusOK, body)
}

// describe serves what is known of the machine.
func (r *request) describe() {
	d, err := r.manager.Describe(r.Context())
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		r.failWith(err, nil)
		return
	}
	r.answer(http.StatusOK, d)
}

// forDead reports whether a request is for a server that has died, and after which
// this one follows. Nobody knows the answers of that one.
func (r *request) forDead() bool {
	return lineage.Continued(r.Header.Get(headerInstance), r.h.instance)
}

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

// finish answers with an output. If there is an error, it answers with the
// error and the output that came with it.
func (r *request) finish(out *procmgr.Output, err error) {
	if p := &out.Process; p.ID != "" && (err == nil || p.ChatID != "") && !r.mine(p) {
		return
	}
	switch {
	case err == nil:
		r.answer(http.StatusOK, out)
	case out.Process.ID != "":
		r.failWith(err, out)
	default:
		r.failWith(err, nil)
	}
}

// mine reports whether a process belongs to the request's chat. If a Host mixes
// up chats, mine replaces its answer by an error.
func (r *request) mine(p *procmgr.Process) bool {
	if r.chat == "" || p.ChatID == r.chat {
		return true
	}
	r.failWith(xerrors.New("the host answered for another chat"), r.mayHaveBegun())
	return false
}
