package prochttp

import (
	"context"
	"net/http"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// output reads what a process has printed. It waits in slices. state is what
// the caller knows of the process, or "".
func (m *manager) output(ctx context.Context, id string, req procmgr.OutputRequest, state procmgr.State) (procmgr.Output, error) {
	if err := m.check(); err != nil {
		return procmgr.Output{}, err
	}
	switch {
	case id == "" || len(id) > maxPath:
		return procmgr.Output{}, procmgr.ErrNotFound
	case len(req.Until) > maxPath:
		return procmgr.Output{}, xerrors.Errorf("the pattern has %d bytes: %w", len(req.Until), procmgr.ErrInvalid)
	}
	query := outputQuery{OutputRequest: req, State: state}
	if req.Until != "" || req.Wait > m.c.slice || state != "" {
		query.WaitID = newKey()
	}
	began := time.Now()
	var last procmgr.Output
	for {
		c := &call{manager: m, id: id, method: http.MethodGet, path: processPath(id, "output")}
		least := time.Duration(0)
		if query.State != "" {
			// The server holds the wait. A request without a wait would read
			// from another end: the one that there is by now.
			least = time.Millisecond
		}
		c.prepare = func() {
			query.Wait = max(min(req.Wait-time.Since(began), m.c.slice), least)
			c.wait = query.Wait
			c.query = query.encode()
		}
		answer, err := m.c.call(ctx, c)
		if err != nil {
			if answer != nil && answer.failure.Result != nil && m.isOf(answer.failure.Result.Process, id) {
				last = *answer.failure.Result
			}
			return last, m.explain(id, answer, err)
		}
		out, err := answer.output(m, id)
		if err != nil {
			return last, err
		}
		changed := query.State != "" && out.Process.State != query.State
		if !answer.waiting || changed || time.Since(began) >= req.Wait {
			return out, nil
		}
		last, query.State = out, out.Process.State
	}
}
