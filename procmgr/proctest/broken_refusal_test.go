package proctest_test

import (
	"context"
	"errors"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// cutShort is the fault of returning another error, and no ID, when the time of
// a start is up.
func cutShort(answer error) fault {
	return fault{start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
		out, err := m.Start(ctx, req)
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return procmgr.Output{}, answer
		}
		return out, err
	}}
}

var brokenRefusals = []brokenHost{
	{
		name:  "takes a start whose time is up for one that failed",
		fault: always(cutShort(errors.New("gateway timeout"))),
		fails: []string{"refusal/cut short", "start/context ends during the wait"},
	},
	{
		name:  "says that it refuses what it has begun",
		fault: always(cutShort(xerrors.Errorf("it took too long: %w", procmgr.ErrRefused))),
		fails: []string{"refusal/cut short"},
	},
	{
		name: "starts what it has given up",
		fault: always(fault{start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
			if ctx.Err() != nil {
				_, _ = m.Start(context.WithoutCancel(ctx), procmgr.StartRequest{Command: req.Command}) // as another process
			}
			return m.Start(ctx, req)
		}}),
		fails: []string{"refusal/cut short"},
	},
	{
		name: "returns the ID of a conflict",
		fault: always(fault{start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
			out, err := m.Start(ctx, req)
			if errors.Is(err, procmgr.ErrConflict) {
				out.Process.ID = req.ID
			}
			return out, err
		}}),
		fails: []string{"refusal/conflict"},
	},
}
