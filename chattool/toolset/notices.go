package toolset

import (
	"context"

	"github.com/toolproc/toolproc/chattool/toolset/internal/notices"
	"github.com/toolproc/toolproc/procmgr"
)

// A NoticeMode says how a model is told of background processes that have
// ended; see Options.Notices.
type NoticeMode int

const (
	// NoticesInResults puts it into the result of the next call, whatever tool
	// that is of. A model is told at most once: if the loop drops the result,
	// or a crash or a compaction of the conversation loses it, so is the
	// notice. The model can ask with process_list at any time.
	NoticesInResults NoticeMode = iota
	// NoticesInInbox leaves it to the host, which takes it from an [Inbox]. So
	// nothing is lost, and an idle model can be woken.
	NoticesInInbox
	// NoNotices tells nothing. An Inbox of the Set is always empty.
	NoNotices
)

// tellNotices enters into the ledger what a result shows, and puts into the result
// what has become of other processes.
func (s *Set) tellNotices(ctx context.Context, t *notices.Turn, r *report) {
	defer t.End()
	if s.opts.Notices == NoNotices {
		return
	}
	shown := notices.View{Listed: r.Processes, Out: r.Out, ProcessID: r.ProcessID}
	s.ledger.Note(t, shown)
	if s.opts.Notices == NoticesInResults {
		r.Meanwhile = s.ledger.Meanwhile(ctx, t, shown)
	}
}

// promise says in the result of a start when the model will be told of the
// process. It is "" if nobody would tell.
func (s *Set) promise(m procmgr.Manager, p procmgr.Process, notifyOn string) string {
	if p.State == "" || s.opts.Notices == NoNotices {
		return ""
	}
	when := "; you will be told when it ends"
	if notifyOn != "" {
		when += ", or when a line matches notify_on"
	}
	switch {
	case s.opts.Notices == NoticesInResults:
		return when + ", in the result of a later call"
	case s.ledger.Attended(notices.ConversationOf(m, p.ChatID)):
		return when
	}
	return ""
}
