package notices

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	// lookLimit is how long a result waits for news of other processes.
	lookLimit = 2 * time.Second
	// lastLineBytes is how much of an output is read for its last line.
	lastLineBytes = 1024
)

// look brings the book of a conversation up to date: with the manager's events, and
// with the state and the last line of each process of which they do not tell enough.
func (l *Ledger) look(ctx context.Context, m procmgr.Manager, who Conversation) error {
	l.mu.Lock()
	b := l.books[who]
	after := ""
	if b != nil {
		after = b.read
	}
	l.mu.Unlock()
	if b == nil {
		return nil
	}
	page, err := m.Events(ctx, procmgr.EventsRequest{After: after, Limit: -1})
	if after == "" {
		page.Events, page.Gap = nil, false // from before the first look: no news
	}
	if err != nil {
		return err
	}
	l.read(who, m, after, page)
	for _, id := range l.unread(who) {
		out, err := m.Output(ctx, id, procmgr.OutputRequest{Limit: headtail.Limits{Bytes: lastLineBytes}})
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		l.enter(who, id, out, err)
	}
	return ctx.Err()
}

// read enters a page of events into a book.
func (l *Ledger) read(who Conversation, m procmgr.Manager, after string, page procmgr.EventPage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.books[who]
	if b == nil {
		return // another call has told all that there was
	}
	b.manager = m
	l.reads++
	for _, e := range page.Events {
		if ConversationOf(m, e.Process.ChatID) == who {
			l.see(who, e.Process.ExitedAt)
			b.happened(e)
		}
	}
	if b.read == after { // or another call has read further meanwhile
		b.read, b.page = page.Next, l.reads
	}
	for _, j := range b.jobs {
		j.unsure = j.unsure || page.Gap && !j.ended
	}
}

// unread returns the jobs about which the manager has to be asked: those of which the
// events do not tell enough, and those that come next and whose last line is not known.
func (l *Ledger) unread(who Conversation) (ids []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.books[who]
	if b == nil {
		return nil
	}
	next := 0
	for _, j := range dueIn(b) {
		if next++; next <= maxTold && !j.ready() && !j.unsure {
			ids = append(ids, j.id)
		}
	}
	for _, j := range jobsOf(b) {
		if j.unsure {
			ids = append(ids, j.id)
		}
	}
	return ids
}

// enter enters what the manager says of a job. An end whose output cannot be read is
// told without its last line, and a question that is no longer asked is not told.
func (l *Ledger) enter(who Conversation, id string, out procmgr.Output, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.books[who]
	if b == nil || b.jobs[id] == nil {
		return
	}
	j, p, line := b.jobs[id], out.Process, lastLine(out.Text)
	switch {
	case errors.Is(err, procmgr.ErrNotFound), errors.Is(err, procmgr.ErrInvalid): // no process can have such an ID
		switch {
		case j.ended:
			j.lastRead = true
		case j.maybe && !errors.Is(err, procmgr.ErrUnknown):
			l.drop(who, id) // it has not started
		default:
			j.lose()
		}
	case err != nil:
		j.lastRead = j.ended // or the next look tries again
	case p.State == procmgr.Exited || j.ended:
		p.ID = id
		if l.see(who, p.ExitedAt); !j.ended {
			b.exit(p)
		}
		j.last, j.lastRead = line, true
	default:
		p.ID, j.unsure = id, false
		j.know(p)
		if j.waits(out.Waiting); j.asks != nil {
			j.question, j.asksRead = line, true
		}
	}
}

// lastLine returns the last line of a text that is not blank.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
