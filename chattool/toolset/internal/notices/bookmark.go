package notices

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// A bookmark is what another Set needs to go on: the cursor of an [inbox]. All
// ends up to a place in the events have been told or shown by then, except for
// those of the processes in Left.
type bookmark struct {
	Set  string `json:"set"`
	Chat string `json:"chat,omitempty"`
	// At is the place in the events, and Latest the time of the last exit up
	// to it, by the clock of the manager. If At does not help, Latest does.
	At     string     `json:"at,omitempty"`
	Latest time.Time  `json:"latest,omitzero"`
	Left   []leftOver `json:"left,omitempty"`
}

// A leftOver is a process of which something was to be told, or may be one day.
type leftOver struct {
	ID         string `json:"id"`
	Command    string `json:"command,omitempty"`
	Background bool   `json:"background,omitempty"`
	Maybe      bool   `json:"maybe,omitempty"`
	// Line is the line that has matched notify_on, if MatchTold does not say
	// that the model knows.
	Matched   bool   `json:"matched,omitempty"`
	MatchTold bool   `json:"match_told,omitempty"`
	Line      string `json:"line,omitempty"`
}

// note enters what a book has. The caller holds the ledger's mu.
func (mark *bookmark) note(who Conversation, b *book) {
	mark.Chat, mark.Latest = who.chat, b.latest
	if b.read != "" {
		mark.At = b.read
	}
	for _, j := range jobsOf(b) {
		left := leftOver{
			ID: j.id, Command: j.process.Command, Background: j.process.Background, Maybe: j.maybe,
			Matched: j.matched, MatchTold: j.matchTold,
		}
		if j.matched && !j.matchTold {
			left.Line = j.matchedLine
		}
		mark.Left = append(mark.Left, left)
	}
}

// String returns the cursor.
func (mark bookmark) String() string {
	data, err := json.Marshal(mark)
	if err != nil {
		return "" // it has strings and times alone, so this cannot be reached
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

// readBookmark reads a cursor.
func readBookmark(cursor string) (*bookmark, error) {
	data, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return nil, xerrors.Errorf("a cursor: %w", err)
	}
	var mark bookmark
	if err := json.Unmarshal(data, &mark); err != nil {
		return nil, xerrors.Errorf("a cursor: %w", err)
	}
	return &mark, nil
}

// adopt enters into the ledger what another Set has left running.
func (b *Inbox) adopt(ctx context.Context, m procmgr.Manager, from *bookmark) error {
	page, err := m.Events(ctx, procmgr.EventsRequest{After: from.At, Latest: from.At == "", Limit: -1})
	events := err == nil
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	list, err := listAll(ctx, m)
	if err != nil {
		return err
	}
	seen := slices.Clone(list)
	for _, e := range page.Events {
		seen = append(seen, e.Process)
	}
	if from.Chat != "" && len(seen) > 0 && !slices.ContainsFunc(seen, func(p procmgr.Process) bool { return p.ChatID == from.Chat }) {
		from = &bookmark{} // it is of another chat, whose processes are not to be told here
	}
	l := b.ledger
	who, ok := Conversation{chat: from.Chat}, from.Chat != ""
	if !ok && len(from.Left) > 0 {
		who, ok = ConversationOf(m, ""), true
	}
	if !ok {
		who, ok = conversationIn(m, seen)
	}
	if ok {
		l.take(b.seat, who, m)
		l.adopt(who, *from, page, events, list)
		l.find(ctx, m, who, l.compare(who, list, events))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.from = nil; events {
		b.at = page.Next
	}
	return nil
}

// adopt enters the processes that another Set has left running, as far as their
// bookmark, the events since and a list tell. The ends in the list are entered
// by compare. It leaves out what this Set has shown, or is about to.
func (l *Ledger) adopt(who Conversation, from bookmark, page procmgr.EventPage, events bool, list []procmgr.Process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.books[who]
	take := func(p procmgr.Process) *job {
		if l.starting[p.ID] > 0 || l.shown[end{who, p.ID}] {
			return nil
		}
		return l.add(b, p)
	}
	for _, left := range from.Left {
		known := b.jobs[left.ID] != nil
		j := take(procmgr.Process{ID: left.ID, ChatID: who.chat, Command: left.Command, Background: left.Background, State: procmgr.Running})
		if j != nil && !known {
			j.maybe, j.matched, j.matchTold, j.matchedLine = left.Maybe, left.Matched, left.MatchTold, left.Line
		}
	}
	b.latest = from.Latest
	if events {
		b.read = page.Next
	}
	certain := events && from.At != "" && !page.Gap
	if who.chat != "" { // or nobody can tell what the host itself has started
		if certain {
			l.adoptEvents(who, page.Events, take)
		}
		for _, p := range list {
			if p.ChatID == who.chat && (p.State != procmgr.Exited || !certain && p.ExitedAt.After(from.Latest) && outlived(p, list)) {
				take(p)
			}
		}
	}
	for _, e := range page.Events {
		if e.Process.ChatID == who.chat {
			b.happened(e)
		}
	}
}

// adoptEvents takes the processes that have been left running, as far as events
// tell. A foreground command was left running if another one was started before
// it ended: calls of execute do not overlap.
func (l *Ledger) adoptEvents(who Conversation, events []procmgr.Event, take func(procmgr.Process) *job) {
	foreground := make(map[string]procmgr.Process) // that live
	for _, e := range events {
		p := e.Process
		if p.ChatID != who.chat {
			continue
		}
		switch e.Kind {
		case procmgr.EventStarted:
			for id, f := range foreground {
				take(f)
				delete(foreground, id)
			}
			if !p.Background {
				foreground[p.ID] = p
			}
		case procmgr.EventExited:
			delete(foreground, p.ID)
		}
		if p.Background && e.Kind != procmgr.EventRevived || e.Kind == procmgr.EventDetached {
			take(p)
		}
	}
}

// outlived reports whether a process that has exited was left running, as far as
// a list tells.
func outlived(p procmgr.Process, list []procmgr.Process) bool {
	if p.Background {
		return true
	}
	for _, other := range list {
		if other.ChatID == p.ChatID && other.StartedAt.After(p.StartedAt) && other.StartedAt.Before(p.ExitedAt) {
			return true
		}
	}
	return false
}
