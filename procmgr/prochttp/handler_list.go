package prochttp

import (
	"errors"
	"net/http"

	"github.com/toolproc/toolproc/procmgr"
)

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
