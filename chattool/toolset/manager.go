package toolset

import (
	"context"

	"github.com/toolproc/toolproc/procmgr"
)

// manager calls the resolver. If ok is false, the report says why.
func (k *kit) manager(ctx context.Context) (m procmgr.Manager, res report, ok bool) {
	if k.managers == nil {
		return nil, refuse("no process manager is set up, so no command can be run and no process seen; tell the user"), false
	}
	m, err := k.managers(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, k.canceled(ctx, "nothing was done", nil, ""), false
	case never(err):
		return nil, denied("done", err), false
	case err != nil:
		return nil, refuse("no process manager is available, nothing was done: %s. Try again, and tell the user if that fails too", words(err)), false
	case m == nil:
		return nil, refuse("there is no process manager for this chat, so nothing was done; tell the user"), false
	}
	return m, report{}, true
}
