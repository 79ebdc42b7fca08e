package prochttp

import (
	"context"
	"net/http"
	"time"
	"unicode/utf8"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// output reads the output of a process. It waits in slices.
func (m *manager) output(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	if err := m.check(); err != nil {
		return procmgr.Output{}, err
	}
	switch {
	case id == "" || len(id) > maxPath:
		return procmgr.Output{}, procmgr.ErrNotFound
	case len(req.Until) > maxPath:
		return procmgr.Output{}, xerrors.Errorf("the pattern has %d bytes: %w", len(req.Until), procmgr.ErrInvalid)
	}
	query := outputQuery{OutputRequest: req}
	if len(req.Against) > maxPath || !utf8.ValidString(req.Against) {
		query.Against = "" // no process has such an ID
	}
	if req.Wait > 0 && (req.Until != "" || req.Wait > m.c.slice || req.State != "") {
		query.WaitID = newKey()
	}
	began := time.Now()
	var out procmgr.Output
	for {
		var next procmgr.Output
		c := &call{manager: m, id: id, method: http.MethodGet, path: processPath(id, "output"), into: &next}
		c.prepare = func() {
			left := max(req.Wait-time.Since(began), 0)
			if query.WaitID != "" {
				// The server holds the wait, and this asks for its end, even if
				// the time is up by now. A request without a wait would not use
				// it: a From beyond the end would then mean the end by now.
				left = max(left, time.Millisecond)
				query.Left = left
			}
			query.Wait = min(left, m.c.slice)
			c.wait = query.Wait
			c.query = query.encode()
		}
		answer, err := m.c.call(ctx, c)
		if err != nil {
			if answer != nil && answer.failure.Result != nil && m.isOf(answer.failure.Result.Process, id) {
				out = *answer.failure.Result
			}
			return out, m.explain(id, answer, err)
		}
		if err := answer.about(m, next.Process, id); err != nil {
			return out, err
		}
		out = next
		changed := query.State != "" && out.Process.State != query.State
		// A snapshot in the middle of a wait does not say what the pattern has
		// seen.
		ended := query.Left <= query.Wait || req.Until == ""
		if !answer.waiting || changed || ended && time.Since(began) >= req.Wait {
			return out, nil
		}
		query.State = out.Process.State
	}
}
