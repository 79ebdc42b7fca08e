package prochttp

import (
	"context"
	"net/http"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

// describe serves what is known of the machine.
func (r *request) describe() {
	if !r.body(&struct{}{}) {
		return
	}
	d, err := r.manager.Describe(r.Context())
	if err != nil {
		r.failWith(err, nil)
		return
	}
	r.answer(http.StatusOK, d)
}

// list serves a list: the processes that the request asks for, and the counts.
func (r *request) list() {
	var body listBody
	if !r.body(&body) {
		return
	}
	page, err := r.manager.List(r.Context(), procmgr.ListRequest(body))
	for i := range page.Processes {
		if !r.mine(&page.Processes[i]) {
			return
		}
	}
	if page.Processes == nil {
		page.Processes = []procmgr.Process{} // never null
	}
	r.finishPage(err, new(listPage(page)), nil)
}

// events serves a page of events, with a wait of at most maxSlice. A wait needs
// not be held between two requests: reading takes no event away.
func (r *request) events() {
	var body eventsBody
	if !r.body(&body) {
		return
	}
	req := procmgr.EventsRequest(body)
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
	r.finishPage(err, nil, &page)
}

// finishPage answers with one of two kinds of pages. If some machines are missing, it
// answers with the error and the page of the others.
func (r *request) finishPage(err error, list *listPage, events *procmgr.EventPage) {
	switch {
	case err == nil && list != nil:
		r.answer(http.StatusOK, list)
	case err == nil:
		r.answer(http.StatusOK, events)
	case is[*procmgr.PartialError](err):
		f := failureOf(err)
		f.List, f.Page = list, events
		r.fail(f)
	default:
		r.failWith(err, nil)
	}
}
