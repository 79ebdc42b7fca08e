package proclocal

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

// tell is Events of one chat, or of all for "".
func (l *Local) tell(ctx context.Context, chat string, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	if err := ctx.Err(); err != nil {
		return procmgr.EventPage{}, err
	}
	rest := l.lookForPrompts(chat)
	page, bell, err := l.look(chat, req)
	if bell == nil {
		return page, err
	}
	over := time.NewTimer(req.Wait)
	defer over.Stop()
	for {
		var round <-chan time.Time
		if rest > 0 {
			round = time.After(rest)
		}
		select {
		case <-round:
			rest = l.lookForPrompts(chat)
			continue // an event rings the bell
		case <-bell.rings:
		case <-over.C:
			l.leave(chat, bell)
			return page, nil
		case <-ctx.Done():
			l.leave(chat, bell)
			return procmgr.EventPage{}, ctx.Err()
		}
		if page, bell, err = l.look(chat, req); bell == nil {
			return page, err
		}
	}
}

// look returns a page. If the caller has to wait for an event, look also returns the
// bell that rings at the next one.
func (l *Local) look(chat string, req procmgr.EventsRequest) (page procmgr.EventPage, b *bell, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	page = l.events.page(chat, req)
	for i := range page.Events {
		p := &page.Events[i].Process
		if l.table.get(p.ChatID, p.ID).record == nil {
			p.LogPath = "" // the log went with the record
		}
	}
	switch {
	case len(page.Events) > 0, page.Gap, req.Wait <= 0:
		return page, nil, nil
	case l.events.closed:
		return page, nil, procmgr.ErrClosed
	}
	return page, l.events.listen(chat), nil
}

func (l *Local) leave(chat string, b *bell) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events.leave(chat, b)
}

const (
	// maxEvents is how many events are kept, and maxChatEvents how many of
	// one chat.
	maxEvents     = 16384
	maxChatEvents = 1024
	// defaultEvents is how many events a page has if its request does not say.
	defaultEvents = 100
)

// An eventLog keeps the newest events of all chats. The Local's mu guards it.
type eventLog struct {
	instance string    // of the Local: it tells the cursors of two from each other
	closed   bool      // there will be no more
	at       time.Time // of the newest event
	kept     *fair[*procmgr.Event]
	order    []kept[*procmgr.Event] // of all chats, the oldest first; dropped ones stay in it for a while
	// dropped is the newest event of each chat that was dropped, as long as
	// others of the chat are kept; droppedAny is the newest one of all chats,
	// and droppedLast the newest one that was the last of its chat.
	dropped     map[string]uint64
	droppedAny  uint64
	droppedLast uint64
	bells       map[string]*bell // by chat; "" is the host, who sees all
}

// A bell wakes the callers that wait for an event of one chat, or of any.
type bell struct {
	rings chan struct{} // closed at the next event
	ears  int
}

// newEventLog returns one that has none.
func newEventLog() *eventLog {
	e := &eventLog{instance: rand.Text(), dropped: make(map[string]uint64), bells: make(map[string]*bell)}
	e.kept = newFair(maxEvents, maxChatEvents, e.drop)
	return e
}

// add adds an event.
func (e *eventLog) add(chat string, event procmgr.Event) {
	if event.At.Before(e.at) {
		event.At = e.at // the end of a process is known only when its last output has been read
	}
	e.at = event.At
	it := e.kept.add(chat, &event) // drop may change e.order
	e.order = append(e.order, it)
	e.ring(chat)
	e.ring("")
}

// drop notes that an event is kept no more.
func (e *eventLog) drop(chat string, it kept[*procmgr.Event]) {
	*it.item = procmgr.Event{} // it stays in e.order
	e.droppedAny = max(e.droppedAny, it.number)
	if len(e.kept.byChat[chat]) > 0 {
		e.dropped[chat] = it.number
	} else {
		// Chats come and go without bound, so that not each of them can have
		// a number of its own.
		delete(e.dropped, chat)
		e.droppedLast = max(e.droppedLast, it.number)
	}
	if len(e.order) > 2*e.kept.count+defaultEvents {
		e.order = slices.DeleteFunc(e.order, isDropped)
	}
}

func isDropped(it kept[*procmgr.Event]) bool { return it.item.Kind == "" }

// droppedFor returns the number of the newest event that is kept no more and
// that a chat, or the host for "", may have seen.
func (e *eventLog) droppedFor(chat string) uint64 {
	switch number, some := e.dropped[chat]; {
	case chat == "":
		return e.droppedAny
	case some:
		return number
	}
	return e.droppedLast
}

// page returns the events of a chat, or of all for "".
func (e *eventLog) page(chat string, req procmgr.EventsRequest) procmgr.EventPage {
	after, known := e.place(req.After)
	page := procmgr.EventPage{Gap: !known || after < e.droppedFor(chat)}
	all := e.order
	if chat != "" {
		all = e.kept.byChat[chat]
	}
	limit := req.Limit
	if limit == 0 {
		limit = defaultEvents
	}
	first, _ := slices.BinarySearchFunc(all, after+1, func(it kept[*procmgr.Event], number uint64) int { return cmp.Compare(it.number, number) })
	all = all[first:]
	for i, it := range all {
		if isDropped(it) {
			continue
		}
		if len(page.Events) == limit {
			break
		}
		if page.Events == nil {
			page.Events = make([]procmgr.Event, 0, min(uint(len(all)-i), uint(limit))) // a negative limit is none
		}
		event := *it.item
		event.Process = clone(event.Process)
		page.Events = append(page.Events, event)
		after = it.number
	}
	if len(page.Events) != limit {
		after = e.kept.newest
	}
	page.Next = e.cursor(after)
	return page
}

// cursor returns the text that names the place behind an event.
func (e *eventLog) cursor(number uint64) string {
	return e.instance + "." + strconv.FormatUint(number, 10)
}

// place returns the number of the event behind which a cursor is. known is false
// if the cursor is not one of this Local.
func (e *eventLog) place(cursor string) (number uint64, known bool) {
	if cursor == "" {
		return 0, true
	}
	instance, text, _ := strings.Cut(cursor, ".")
	number, err := strconv.ParseUint(text, 10, 64)
	if err != nil || instance != e.instance || number > e.kept.newest || e.cursor(number) != cursor {
		return 0, false
	}
	return number, true
}

// listen returns the bell of a chat.
func (e *eventLog) listen(chat string) *bell {
	b := e.bells[chat]
	if b == nil {
		b = &bell{rings: make(chan struct{})}
		e.bells[chat] = b
	}
	b.ears++
	return b
}

// leave is called by a caller that no longer waits for a bell.
func (e *eventLog) leave(chat string, b *bell) {
	if b.ears--; b.ears == 0 && e.bells[chat] == b {
		delete(e.bells, chat)
	}
}

func (e *eventLog) ring(chat string) {
	if b := e.bells[chat]; b != nil {
		delete(e.bells, chat)
		close(b.rings)
	}
}

// close wakes everybody who waits. There are no more events.
func (e *eventLog) close() {
	e.closed = true
	for chat := range e.bells {
		e.ring(chat)
	}
}

// happened notes an event. The caller holds the Local's mu since the state of
// the process changed, so that no List contradicts the event.
func (l *Local) happened(kind procmgr.EventKind, at time.Time, p procmgr.Process, line string) {
	p.Command = cutShort(p.Command)
	l.events.add(p.ChatID, procmgr.Event{At: at, Kind: kind, Process: p, Line: line})
}

// matched notes that a line has matched StartRequest.Notify.
func (l *Local) matched(r *record, line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.happened(procmgr.EventMatched, time.Now(), r.snapshot(), line)
}
