package toolset

import (
	"context"
	"errors"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// tellNotices enters into the ledger what a result shows, and puts into the result
// what has become of other processes.
func (k *kit) tellNotices(ctx context.Context, t *turn, r *report) {
	shown := view{listed: r.Processes, out: r.Out, processID: r.ProcessID}
	k.ledger.note(ctx, t, shown)
	if !k.opts.NoticesInInbox {
		r.Meanwhile = k.ledger.meanwhile(ctx, t, shown)
	}
}

// promise says in the result of a start when the model will be told of the
// process. It is "" if the model will not be told.
func (k *kit) promise(ctx context.Context, t *turn, p procmgr.Process, notifyOn string) string {
	if p.State == "" || !k.ledger.watch(ctx, t, p.ChatID) {
		return ""
	}
	when := "; you will be told when it ends"
	if p.Stdin != procmgr.StdinEmpty {
		when += ", when it waits for input"
	}
	if notifyOn != "" {
		when += ", or when a line matches notify_on"
	}
	if !k.opts.NoticesInInbox {
		when += ", in the result of a later call"
	}
	return when
}

// watch makes sure that a match of notify_on will be found. If ok is false, the model
// would not be told of a match, and the report says so.
func (r *run) watch(ctx context.Context) (rep report, ok bool) {
	if err := checkPattern("notify_on", r.req.Notify); err != nil {
		return refuse("%s: %s", r.kit.names.execute, words(err)), false
	}
	err := r.kit.ledger.watchFrom(ctx, r.turn)
	switch {
	case err == nil:
		return report{}, true
	case errors.Is(err, errors.ErrUnsupported):
		return refuse("nothing was started: the process manager cannot watch for notify_on. Leave notify_on out, and wait with the wait_for of %s", r.kit.names.output), false
	case ctx.Err() != nil:
		return r.kit.canceled(ctx, "nothing was started", nil, ""), false
	}
	return r.refusal(err), false
}

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
// Without Options.NoticesInInbox it is always empty.
type Inbox struct {
	inbox *inbox // nil if it is always empty
}

// Notices are what [Inbox.Pending] returns.
type Notices struct {
	// Text is for the model, as a message of the user's role. It says that it
	// does not come from the user, and that the lines of output in it are data
	// and not instructions. It is "" if there is nothing to tell. It tells of 8
	// processes and has about 2 KiB at most. Others follow after Ack.
	Text string
	// Processes are the processes that Text tells of, in the same order.
	Processes []procmgr.Process
}

// Inbox returns the inbox of a conversation with the manager that the resolver returns
// for ctx. The Inbox keeps the values of ctx, and does not end with it.
//
// cursor is what Ack returned last, or "" for a new conversation. If the cursor comes
// from another Set, for example in a program that crashed, the Inbox also tells of the
// processes of the chat that the other Set left running. It knows all of them up to
// that Ack. Among the processes started since, it tells of all background processes,
// and of a foreground command only if it still lives or was detached. Processes without
// a chat, which the host itself has started, are told only if the cursor has them.
//
// If the cursor cannot be read, or is of another chat, everything counts as new. If the
// manager has dropped events since, its List decides. If the manager cannot be asked
// now, whatever results show until it can may be told again. The manager must have
// Events.
func (s *Set) Inbox(ctx context.Context, cursor string) *Inbox {
	if !s.opts.NoticesInInbox {
		return &Inbox{}
	}
	return &Inbox{inbox: s.ledger.inbox(ctx, cursor)}
}

// Pending returns what no result has shown. It returns the same again until Ack, unless
// a result shows it or it is no longer so. What becomes of a process meanwhile is told
// after Ack. If there is nothing, Notices is empty. It fails if the resolver or the
// manager fails, and loses nothing then.
func (b *Inbox) Pending(ctx context.Context) (Notices, error) {
	if b.inbox == nil {
		return Notices{}, nil
	}
	text, processes, err := b.inbox.pending(ctx)
	if err != nil {
		return Notices{}, xerrors.Errorf("toolset: pending notices: %w", err)
	}
	return Notices{Text: text, Processes: processes}, nil
}

// Ack notes that the model has been told of n, which Pending returned: call it
// once the provider has taken the request. It returns the cursor for the next
// Inbox of the conversation. To have a cursor without telling anything, call it
// with the zero Notices. It asks the manager, for 2 s at most.
func (b *Inbox) Ack(n Notices) (cursor string) {
	if b.inbox == nil {
		return ""
	}
	return b.inbox.ack(n.Processes)
}

// Wait returns when Pending would return something. Until then no tokens are
// used: it waits for an event of the manager. It returns an error if ctx has ended, or
// if the manager or the resolver fails. The error is [errors.ErrUnsupported] if the
// manager has no events, or if nothing is ever pending.
func (b *Inbox) Wait(ctx context.Context) error {
	err := errors.ErrUnsupported
	if b.inbox != nil {
		err = b.inbox.wait(ctx)
	}
	if err != nil {
		return xerrors.Errorf("toolset: wait for notices: %w", err)
	}
	return nil
}
