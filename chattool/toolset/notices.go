package toolset

import (
	"context"
	"errors"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/chattool/toolset/internal/notices"
	"github.com/toolproc/toolproc/procmgr"
)

// tellNotices enters into the ledger what a result shows, and puts into the result
// what has become of other processes.
func (k *kit) tellNotices(ctx context.Context, t *notices.Turn, r *report) {
	if k.opts.Notices == NoNotices {
		t.End()
		return
	}
	shown := notices.View{Listed: r.Processes, Out: r.Out, ProcessID: r.ProcessID}
	k.ledger.Note(ctx, t, shown)
	if k.opts.Notices == NoticesInResults {
		r.Meanwhile = k.ledger.Meanwhile(ctx, t, shown)
	}
}

// promise says in the result of a start when the model will be told of the
// process. It is "" if nobody would tell.
func (k *kit) promise(ctx context.Context, t *notices.Turn, p procmgr.Process, notifyOn string) string {
	if p.State == "" || k.opts.Notices == NoNotices || !k.ledger.Watch(ctx, t, p.ChatID) {
		return ""
	}
	when := "; you will be told when it ends"
	if p.Stdin != procmgr.StdinEmpty {
		when += ", when it waits for input"
	}
	if notifyOn != "" {
		when += ", or when a line matches notify_on"
	}
	switch {
	case k.opts.Notices == NoticesInResults:
		return when + ", in the result of a later call"
	case k.ledger.Attended():
		return when
	}
	return ""
}

// watch sees to it that a match of notify_on will be found. If ok is false, nobody
// would tell the model of one, and the report says so.
func (k *kit) watch(ctx context.Context, t *notices.Turn, pattern string) (rep report, ok bool) {
	if err := checkPattern("notify_on", pattern); err != nil {
		return refuse("%s: %s", k.names.execute, words(err)), false
	}
	const instead = "nothing was started: %s. Leave notify_on out, and wait with the wait_for of %s"
	if k.opts.Notices == NoNotices {
		return refuse(instead, "notify_on cannot be used here", k.names.output), false
	}
	err := k.ledger.WatchFrom(ctx, t)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return refuse(instead, "the process manager cannot watch for notify_on", k.names.output), false
	case never(err):
		return denied("started", err), false
	case err != nil && ctx.Err() != nil:
		return k.canceled(ctx, "nothing was started", nil, ""), false
	case err != nil:
		return refuse("nothing was started: %s Nothing was run, so it is safe to make the call once more; tell the user if it fails again", wording.Sentence(words(err))), false
	}
	return report{}, true
}
