package prochttp

import (
	"context"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

// output serves an output, with a wait of at most maxSlice.
func (r *request) output() {
	var query outputQuery
	if err := query.parameters().parse(r.URL.RawQuery); err != nil {
		r.failWith(err, nil)
		return
	}
	query.Wait = min(query.Wait, maxSlice)
	if query.Wait == 0 {
		query.WaitID = ""
	}
	if query.WaitID == "" && r.h.opts.Context.Err() != nil {
		query.Wait = 0
	}
	var out procmgr.Output
	var err error
	waiting, ended := false, query.Wait == 0
	if query.Wait > 0 {
		place := query.WaitID == "" // a held wait takes one itself
		ended, err = r.limited(query.Wait, place, func(ctx context.Context) (err error) {
			if query.WaitID == "" {
				out, err = r.manager.Output(ctx, r.id, query.OutputRequest)
			} else {
				out, waiting, err = r.heldOutput(ctx, &query)
			}
			return err
		})
	}
	if ended {
		query.Wait = 0
		waiting = false // if the server is about to end, the client cannot continue the wait
		out, err = r.manager.Output(r.Context(), r.id, query.OutputRequest)
	}
	if err == nil && waiting {
		r.w.Header().Set(headerWaiting, "true")
	}
	r.finish(&out, err)
}

// heldOutput waits in a wait that outlives the request: a new one, or the wait
// of an earlier request with the same name. It sets query.From to the offset
// from which that wait reads.
func (r *request) heldOutput(ctx context.Context, query *outputQuery) (out procmgr.Output, waiting bool, err error) {
	snapshot := query.OutputRequest
	snapshot.Wait, snapshot.State = 0, ""
	key := waitKey{r.chat, r.id, query.WaitID, snapshot}
	held, err := r.h.waits.join(ctx, r.manager, key, query.State, query.Left)
	if err != nil {
		return out, false, err
	}
	defer r.h.waits.leave(key, held)
	defer func() { query.From = held.from.Load() }()
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
	out, err = r.manager.Output(ctx, r.id, snapshot)
	if err != nil || query.State == "" || out.Process.State == query.State {
		return out, true, err
	}
	// If the state changed before the wait began, this ends the wait too.
	snapshot.Until = query.Until
	out, err = r.manager.Output(ctx, r.id, snapshot)
	return out, false, err
}
