package proclocal

import (
	"context"
	"log/slog"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/capture"
	"github.com/toolproc/toolproc/procmgr/internal/check"
	"github.com/toolproc/toolproc/procmgr/proclocal/internal/input"
)

// errNoStdin is the error for a process that was started without a stdin.
var errNoStdin = xerrors.Errorf("its stdin is empty: only a process that was started with a Stdin of %q or %q can be written to: %w", string(procmgr.StdinPipe), string(procmgr.StdinTerminal), procmgr.ErrInvalid)

// input is Input in one chat.
func (l *Local) input(ctx context.Context, chat, id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
	if err := ctx.Err(); err != nil {
		return procmgr.InputOutput{}, err
	}
	m, err := capture.NewMatcher(req.Until)
	if err == nil {
		err = check.Input(req)
	}
	if err != nil {
		return procmgr.InputOutput{}, err
	}
	over := time.Now().Add(req.Wait)
	r, past, err := l.find(ctx, chat, id)
	switch {
	case err != nil:
		return procmgr.InputOutput{}, err
	case past != nil, r.in == nil && r.exited():
		return procmgr.InputOutput{}, procmgr.ErrNotRunning
	case r.in == nil:
		return procmgr.InputOutput{}, errNoStdin
	case !r.terminal && (len(req.Keys) > 0 || req.Secret):
		return procmgr.InputOutput{}, xerrors.Errorf("keys and secrets are for a terminal, and its stdin is a pipe; write Data: %w", procmgr.ErrInvalid)
	}
	state := r.state()
	w, err := l.put(ctx, r, req, over)
	if w == nil {
		return procmgr.InputOutput{}, err
	}
	if err == nil {
		err = w.Err
	}
	if err == nil && w.N == len(req.Data) {
		if m != nil {
			err = r.watch(ctx, m, req, w)
		}
		if err != nil {
			m = nil // it is not watched
		} else if m != nil || req.UntilQuiet > 0 || req.UntilWaiting {
			polls := r.asks(req.UntilWaiting)
			if req.UntilQuiet > 0 {
				polls = append(polls, func() (bool, time.Duration) { return r.in.Quiet(w, req.UntilQuiet) })
			}
			err = r.wait(ctx, state, time.Until(over), m, polls...)
		}
	} else {
		m = nil
	}
	out := r.output(w.Before.Offset, req.Limit, 0, m)
	return procmgr.InputOutput{Output: out, Written: w.N}, err
}

// watch lets a matcher see what is printed after a write. A request that writes
// nothing may also wait for what is shown already.
func (r *record) watch(ctx context.Context, m *capture.Matcher, req procmgr.InputRequest, w *input.Receipt) error {
	if !check.Writes(req) {
		return r.out.Watch(ctx, m, w.Before.Offset)
	}
	return r.out.WatchAfter(ctx, m, w.Before)
}

// put writes a request, or finds out what was written with its key. It returns nil
// if the request was refused.
func (l *Local) put(ctx context.Context, r *record, req procmgr.InputRequest, until time.Time) (*input.Receipt, error) {
	var refused bool
	var err error
	w, failed := r.answers.Do(ctx, req.IdempotencyKey, input.FingerprintOf(req), func(w *input.Receipt) bool {
		if refused, err = r.in.Write(ctx, w, req, until); !refused {
			r.log(slog.LevelInfo, "input written", slog.Int("bytes", w.N), slog.Int("keys", len(req.Keys)))
		}
		return refused
	})
	switch {
	case failed != nil:
		return nil, failed
	case refused:
		return nil, err
	}
	return w, err
}
