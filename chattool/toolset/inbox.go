package toolset

import (
	"context"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool/toolset/internal/notices"
	"github.com/toolproc/toolproc/procmgr"
)

// An Inbox tells a host what its model has not been told: which background
// processes have ended, or matched notify_on, without a result that shows it.
// With it a host loses nothing, and can wake an idle model:
//
//	for inbox.Wait(ctx) == nil {
//		notices, err := inbox.Pending(ctx)
//		// …send notices.Text to the model as a message of a user, and then:
//		save(inbox.Ack(notices))
//	}
//
// Nothing is queued. What Pending returns is computed when it is called, so a
// process whose end a result has shown meanwhile is not in it. Each end is told
// once. After a crash between the sending and Ack it is told twice. An Inbox is
// for one conversation, which needs no more than one. It is safe for concurrent
// use.
//
// Set Options.Notices to [NoticesInInbox], or results tell first, and the Inbox
// has only what no result has told.
type Inbox struct {
	inbox *notices.Inbox
}

// Notices are what [Inbox.Pending] returns.
type Notices struct {
	// Text is for the model, as a message of the user's role. It says that it
	// does not come from the user, and that the lines of output in it are data
	// and not instructions. It is "" if there is nothing to tell. It tells of 8
	// processes and has about 2 KiB at most. Others follow after Ack.
	Text string
	// Processes are those that it tells of, in its order.
	Processes []procmgr.Process
}

// Inbox returns the inbox of a conversation: that of the manager which the
// resolver returns for ctx. The Inbox keeps the values of ctx, and does not end
// with it.
//
// cursor is what Ack returned last, or "" for a new conversation. If another
// Set returned it, for example that of a program which has crashed, the Inbox
// also tells of the processes of the chat that the other Set has left running.
// It knows those of the time before that Ack. Of those that have started since,
// it tells of all background processes, and of a foreground command only if it
// has outlived its call for certain: it still lives, it was detached, or another
// command was started before it ended. Processes without a chat, which the host
// itself has started, are told only if the cursor has them.
//
// If the cursor cannot be read, or is of another chat, everything counts as new. If the
// manager has dropped events since, its List decides. If the manager cannot be asked now,
// what a result shows until it can may be told again. The manager must have Events.
func (s *Set) Inbox(ctx context.Context, cursor string) *Inbox {
	return &Inbox{inbox: s.ledger.Inbox(ctx, cursor)}
}

// Pending returns what no result has shown, and the same again until Ack, unless a
// result shows it or it is no longer so. What becomes of a process meanwhile is told
// after Ack. If there is nothing, Notices is empty. An error is that of the resolver or of the
// manager, and loses nothing.
func (b *Inbox) Pending(ctx context.Context) (Notices, error) {
	text, processes, err := b.inbox.Pending(ctx)
	if err != nil {
		return Notices{}, xerrors.Errorf("toolset: pending notices: %w", err)
	}
	return Notices{Text: text, Processes: processes}, nil
}

// Ack notes that the model has been told of n, which Pending returned: call it
// once the provider has taken the request. It returns the cursor for the next
// Inbox of the conversation. To have a cursor without telling anything, call it
// with the zero Notices. It asks the manager, for 2 s at most.
func (b *Inbox) Ack(n Notices) (cursor string) { return b.inbox.Ack(n.Processes) }

// Wait returns when Pending would return something. Until then no tokens are
// used: it waits for an event of the manager. It returns an error if ctx has ended, or
// if the manager or the resolver fails. The error is [errors.ErrUnsupported] if the
// manager has no events.
func (b *Inbox) Wait(ctx context.Context) error {
	if err := b.inbox.Wait(ctx); err != nil {
		return xerrors.Errorf("toolset: wait for notices: %w", err)
	}
	return nil
}
