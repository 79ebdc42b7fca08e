package toolset

import (
	"context"

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
	k.ledger.Note(t, shown)
	if k.opts.Notices == NoticesInResults {
		r.Meanwhile = k.ledger.Meanwhile(ctx, t, shown)
	}
}

// promise says in the result of a start when the model will be told of the
// process. It is "" if nobody would tell.
func (k *kit) promise(m procmgr.Manager, p procmgr.Process, notifyOn string) string {
	if p.State == "" || k.opts.Notices == NoNotices {
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
	case k.ledger.Attended(notices.ConversationOf(m, p.ChatID)):
		return when
	}
	return ""
}
