package notices

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	// lookLimit is how long a result waits for news of other processes.
	lookLimit = 2 * time.Second
	// maxTold is how many processes one message tells of.
	maxTold = 8
	// lastLineBytes is how much of an output is read for its last line.
	lastLineBytes = 1024
)

// look brings the book of a conversation up to date. It asks the manager for
// its events, if that has any, and at most once for its list. listed is a list
// that the caller has already, or nil; then look asks for no other.
func (l *Ledger) look(ctx context.Context, m procmgr.Manager, who Conversation, listed []procmgr.Process) error {
	after, ok := l.waiting(who)
	if !ok {
		return nil
	}
	return l.lookFrom(ctx, m, who, after, listed)
}

// lookFrom does the work of look, from a place in the events on.
func (l *Ledger) lookFrom(ctx context.Context, m procmgr.Manager, who Conversation, after string, listed []procmgr.Process) error {
	page, err := m.Events(ctx, procmgr.EventsRequest{After: after, Latest: after == "", Limit: -1})
	events := err == nil
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	stale := l.read(who, m, after, page, events)
	switch {
	case listed != nil:
		missing := l.compare(who, listed, false)
		if stale {
			l.find(ctx, m, who, missing)
		}
	case stale:
		list, err := listAll(ctx, m)
		if err != nil {
			return err
		}
		l.find(ctx, m, who, l.compare(who, list, events))
	}
	l.readLastLines(ctx, m, who)
	return ctx.Err()
}

// waiting returns the place up to which the events of a conversation have been
// read. ok is false if no job of it is still to end or to match.
func (l *Ledger) waiting(who Conversation) (after string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.books[who]
	if b == nil {
		return "", false
	}
	for _, j := range b.jobs {
		if !j.ended || !j.lastRead {
			return b.read, true
		}
	}
	return "", false
}

// place returns the place up to which the events of a conversation have been
// read. If none have, it is that at which its Inbox began, from which on they
// are to be read then.
func (l *Ledger) place(who Conversation, began string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.books[who]
	if b == nil {
		return began
	}
	if b.read == "" {
		b.read = began
		l.reads++ // a command that is being started may have an event before it
	}
	return b.read
}

// read enters a page of events into a book. It reports whether the book needs a
// list as well. If events is false, the manager has none.
func (l *Ledger) read(who Conversation, m procmgr.Manager, after string, page procmgr.EventPage, events bool) (stale bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.books[who]
	if b == nil {
		return false // another call has told all that there was
	}
	b.manager = m
	if !events {
		b.stale = true
		return true
	}
	for _, e := range page.Events {
		if ConversationOf(m, e.Process.ChatID) == who {
			b.happened(e)
		}
	}
	if b.read == after { // or another call has read further meanwhile
		b.read = page.Next
	}
	b.stale = b.stale || page.Gap
	l.reads++
	return b.stale
}

// compare enters a list into a book, and returns the jobs that are not in it. If
// settled is set, the list was asked for after the events of the book had been
// read, so that nothing can be missing from both.
func (l *Ledger) compare(who Conversation, list []procmgr.Process, settled bool) (missing []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.books[who]
	if b == nil {
		return nil
	}
	if settled {
		b.stale = false
	}
	found := make(map[string]bool)
	for _, p := range list {
		if ConversationOf(b.manager, p.ChatID) != who {
			continue
		}
		found[p.ID] = true
		if p.State == procmgr.Exited {
			b.exit(p)
		} else if j := b.jobs[p.ID]; j != nil && !j.ended {
			j.know(p)
			j.waits(p.Waiting, p.StartedAt)
		}
	}
	for id, j := range b.jobs {
		if !found[id] && !j.ended {
			missing = append(missing, id)
		}
	}
	slices.Sort(missing)
	return missing
}

// find asks for the jobs that a list does not have. Their records have been
// dropped, or the manager is another one. It asks for as many as one message
// tells. If there are more, or if the manager does not answer, the book stays
// stale, and the next look goes on.
func (l *Ledger) find(ctx context.Context, m procmgr.Manager, who Conversation, missing []string) {
	for i, id := range missing {
		if i == maxTold {
			l.doubt(who)
			return
		}
		out, err := m.Output(ctx, id, procmgr.OutputRequest{From: math.MaxInt64})
		lost := errors.Is(err, procmgr.ErrNotFound) || errors.Is(err, procmgr.ErrInvalid) // no process can have such an ID
		if err != nil && !lost {
			l.doubt(who)
			continue
		}
		l.found(who, m, id, out.Process, lost, errors.Is(err, procmgr.ErrUnknown))
	}
}

// doubt notes that the events to come do not tell how all jobs of a conversation
// stand.
func (l *Ledger) doubt(who Conversation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.books[who]; b != nil {
		b.stale = true
	}
}

// found enters the answer about a job that a list did not have. lost says that
// the manager does not know it, and certain that it did so once.
func (l *Ledger) found(who Conversation, m procmgr.Manager, id string, p procmgr.Process, lost, certain bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.books[who]
	if b == nil || b.jobs[id] == nil {
		return
	}
	j := b.jobs[id]
	switch {
	case lost && j.maybe && !certain:
		l.drop(who, id) // it has not started
	case lost:
		j.lose()
	case p.State == procmgr.Exited:
		p.ID = id
		b.exit(p)
	}
}

// readLastLines reads the last line of each process whose end or question is to be
// told next. An end whose output cannot be read is told without one. A question that
// is no longer asked is not told.
func (l *Ledger) readLastLines(ctx context.Context, m procmgr.Manager, who Conversation) {
	for _, id := range l.unread(who) {
		out, err := m.Output(ctx, id, procmgr.OutputRequest{Limit: headtail.Limits{Bytes: lastLineBytes}})
		if err != nil && ctx.Err() != nil {
			return
		}
		l.readLast(who, id, out, err)
	}
}

// unread returns the jobs that come next and whose last line has not been read.
func (l *Ledger) unread(who Conversation) (ids []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.books[who]
	if b == nil {
		return nil
	}
	for _, j := range dueIn(b, maxTold) {
		if j.ended && !j.lastRead || j.asks != nil && !j.asksRead {
			ids = append(ids, j.id)
		}
	}
	return ids
}

func (l *Ledger) readLast(who Conversation, id string, out procmgr.Output, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.books[who]
	if b == nil || b.jobs[id] == nil {
		return
	}
	j, line := b.jobs[id], lastLine(out.Text)
	switch {
	case j.ended:
		j.last, j.lastRead = line, true
	case j.asks == nil, err != nil: // the next look tries again
	case out.Waiting == nil || !out.Waiting.Since.Equal(j.asks.Since):
		j.asks = nil // another event tells of the next one
	default:
		j.question, j.asksRead = line, true
	}
}

// dueIn returns up to most jobs of which something is to be told, the oldest
// news first. The caller holds the ledger's mu.
func dueIn(b *book, most int) []*job {
	var due []*job
	for _, j := range b.jobs {
		if j.due() {
			due = append(due, j)
		}
	}
	slices.SortFunc(due, func(x, y *job) int {
		return cmp.Or(x.at.Compare(y.at), cmp.Compare(x.order, y.order))
	})
	return due[:min(most, len(due))]
}

// lastLine returns the last line of a text that is not blank.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
