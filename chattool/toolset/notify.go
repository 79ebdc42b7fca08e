package toolset

import (
	"context"
	"errors"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/procmgr"
)

// watchable returns the place in the events from which on a match of notify_on
// will be found. If ok is false, nobody would tell the model of one, and the
// report says so.
func (k *kit) watchable(ctx context.Context, m procmgr.Manager, pattern string) (since string, rep report, ok bool) {
	if err := checkPattern("notify_on", pattern); err != nil {
		return "", refuse("%s: %s", k.names.execute, words(err)), false
	}
	const instead = "nothing was started: %s. Leave notify_on out, and wait with the wait_for of %s"
	if k.opts.Notices == NoNotices {
		return "", refuse(instead, "notify_on cannot be used here", k.names.output), false
	}
	page, err := m.Events(ctx, procmgr.EventsRequest{Latest: true})
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return "", refuse(instead, "the process manager cannot watch for notify_on", k.names.output), false
	case never(err):
		return "", denied("started", err), false
	case err != nil && ctx.Err() != nil:
		return "", k.canceled(ctx, "nothing was started", nil, ""), false
	case err != nil:
		return "", refuse("nothing was started: %s Nothing was run, so it is safe to make the call once more; tell the user if it fails again", wording.Sentence(words(err))), false
	}
	return page.Next, report{}, true
}
