package prochttp

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

// events serves a page of events, with a wait of at most maxSlice. A wait needs
// not be held between two requests: reading takes no event away.
func (r *request) events() {
	var query eventsQuery
	if err := query.parameters().parse(r.URL.RawQuery); err != nil {
		r.failWith(err, nil)
		return
	}
	req := procmgr.EventsRequest(query)
	req.Wait = min(req.Wait, maxSlice)
	if r.h.opts.Context.Err() != nil {
		req.Wait = 0
	}
	var page procmgr.EventPage
	began := time.Now()
	ended, err := r.limited(req.Wait, req.Wait > 0, func(ctx context.Context) (err error) {
		page, err = r.manager.Events(ctx, req)
		return err
	})
	took := time.Since(began)
	if ended {
		req.Wait = 0
		page, err = r.manager.Events(r.Context(), req)
	}
	var partial *procmgr.PartialError
	if err != nil && !errors.As(err, &partial) {
		r.failWith(err, nil)
		return
	}
	for i := range page.Events {
		if !r.mine(&page.Events[i].Process) {
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
