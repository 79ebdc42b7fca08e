package prochttp

import (
	"context"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

// output serves an output, with a wait of at most maxSlice.
func (q *request) output() {
	query, err := parseOutputQuery(q.URL.RawQuery)
	if err != nil {
		q.failWith(err, nil)
		return
	}
	query.Wait = min(query.Wait, maxSlice)
	if query.Wait == 0 {
		query.WaitID = ""
	}
	q.extend(query.Wait)
	out, waiting, err := q.wait(query)
	if err == nil && waiting {
		q.w.Header().Set(headerWaiting, "true")
	}
	q.finish(out, err)
}

// wait serves an output that may wait. waiting reports whether the time of the
// request was up before the end of the wait.
func (q *request) wait(query outputQuery) (out procmgr.Output, waiting bool, err error) {
	snapshot := query.OutputRequest
	snapshot.Wait = 0
	if query.Wait == 0 || query.WaitID == "" && q.h.opts.Context.Err() != nil {
		// A pattern needs no wait to match output that is there already. A wait
		// with a name may have matched output that has been dropped since.
		out, err = q.manager.Output(q.Context(), q.id, snapshot)
		return out, false, err
	}
	ctx, done := q.h.untilShutdown(q.Context())
	defer done()

	if query.WaitID == "" && query.State != "" {
		out, err := q.manager.Output(ctx, q.id, snapshot)
		if err != nil || out.Matched || out.Process.State != query.State {
			return out, false, err
		}
	}
	if query.WaitID == "" {
		release, ok := q.h.waits.enter(true)
		if !ok {
			return out, false, errBusy
		}
		defer release()
		out, err = q.manager.Output(ctx, q.id, query.OutputRequest)
	} else {
		out, waiting, err = q.heldOutput(ctx, &query)
	}
	if err != nil && q.h.opts.Context.Err() != nil && q.Context().Err() == nil {
		waiting = false // the server is about to end, so the client cannot continue the wait
		snapshot.From = query.From
		out, err = q.manager.Output(q.Context(), q.id, snapshot)
	}
	return out, waiting, err
}

// heldOutput waits in a wait that outlives the request: a new one, or the wait
// of an earlier request with the same name. It sets query.From to the offset
// from which that wait reads.
func (q *request) heldOutput(ctx context.Context, query *outputQuery) (out procmgr.Output, waiting bool, err error) {
	snapshot := query.OutputRequest
	snapshot.Wait = 0
	key := waitKey{q.chat, q.id, query.WaitID, snapshot}
	held, began, err := q.h.waits.join(ctx, q.manager, key, query.Left)
	if err != nil {
		return out, false, err
	}
	defer q.h.waits.leave(key, held)
	defer func() { query.From = held.from.Load() }()
	if began && query.State != "" {
		// The state may have changed after the caller saw it and before this
		// wait began.
		out, err := q.manager.Output(ctx, q.id, snapshot)
		if err != nil || out.Matched || out.Process.State != query.State {
			return out, false, err
		}
	}
	slice := query.Wait
	if query.Left > 0 && query.Left <= slice {
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
	out, err = q.manager.Output(ctx, q.id, snapshot)
	if err != nil || query.State == "" || out.Process.State == query.State {
		return out, true, err
	}
	// If the state changed before the wait began, this ends the wait too.
	snapshot.Until = query.Until
	out, err = q.manager.Output(ctx, q.id, snapshot)
	return out, false, err
}
