package prochttp

import (
	"errors"
	"net/http"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

// events serves a page of events, with a wait of at most maxSlice. A wait needs
// not be held between two requests: reading takes no event away.
func (r *request) events() {
	query, err := parseEventsQuery(r.URL.RawQuery)
	if err != nil {
		r.failWith(err, nil)
		return
	}
	req := procmgr.EventsRequest(query)
	req.Wait = min(req.Wait, maxSlice)
	if req.Latest || r.h.opts.Context.Err() != nil {
		req.Wait = 0
	}
	release, ok := r.h.waits.enter(req.Wait > 0)
	if !ok {
		r.failWith(errBusy, nil)
		return
	}
	defer release()
	r.extend(req.Wait)

	ctx, done := r.h.untilShutdown(r.Context())
	defer done()
	began := time.Now()
	page, err := procmgr.Events(ctx, r.manager, req)
	took := time.Since(began)
	if err != nil && ctx.Err() != nil && r.Context().Err() == nil {
		req.Wait = 0 // the shutdown ended the wait
		page, err = procmgr.Events(r.Context(), r.manager, req)
	}
	var partial *procmgr.PartialError
	if err != nil && !errors.As(err, &partial) {
		r.failWith(err, nil)
		return
	}
	for _, e := range page.Events {
		if !r.mine(e.Process) {
			return
		}
	}
	if page.Events == nil {
		page.Events = []procmgr.Event{} // never null
	}
	if partial != nil {
		f := failureOf(err)
		f.Page = &page
		r.fail(f)
		return
	}
	if req.Wait > 0 && took >= req.Wait && len(page.Events) == 0 && !page.Gap {
		r.w.Header().Set(headerWaiting, "true")
	}
	r.answer(http.StatusOK, page)
}
