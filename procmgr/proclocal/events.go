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

// tell is Events for one viewer.
func (l *Local) tell(ctx context.Context, v viewer, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	if err := ctx.Err(); err != nil {
		return procmgr.EventPage{}, err
	}
	rest := l.lookForPrompts(v)
	page, bell, err := l.look(v, req)
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
			rest = l.lookForPrompts(v)
			continue // an event rings the bell
		case <-bell.rings:
		case <-over.C:
			l.leave(v, bell)
			return page, nil
		case <-ctx.Done():
			l.leave(v, bell)
			return procmgr.EventPage{}, ctx.Err()
		}
		if page, bell, err = l.look(v, req); bell == nil {
			return page, err
		}
	}
}

// look returns a page for a viewer. If the viewer has to wait for an event,
// look also returns the bell that rings at the next one.
func (l *Local) look(v viewer, req procmgr.EventsRequest) (page procmgr.EventPage, b *bell, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	page = l.events.page(v, req)
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
	return page, l.events.listen(v), nil
}

func (l *Local) leave(v viewer, b *bell) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events.leave(v, b)
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
	bells       map[viewer]*bell
}

// A viewer is a chat, or the host that sees all chats.
type viewer struct {
	Chat string
	Host bool
}

// A bell wakes the callers that wait for an event which a viewer can see.
type bell struct {
	rings chan struct{} // closed at the next event
	ears  int
}

// newEventLog returns one that has none.
func newEventLog() *eventLog {
	e := &eventLog{instance: rand.Text(), dropped: make(map[string]uint64), bells: make(map[viewer]*bell)}
	e.kept = newFair(maxEvents, maxChatEvents, e.drop)
	return e
}

// add adds an event.
func (e *eventLog) add(chat string, event procmgr.Event) {
	if event.At.Before(e.at) {
		event.At = e.at // the end of a process is known only when its last output has been read
	}
	e.at = event.At
	e.order = append(e.order, e.kept.add(chat, &event))
	e.ring(viewer{Chat: chat})
	e.ring(viewer{Host: true})
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
// that a viewer may have seen.
func (e *eventLog) droppedFor(v viewer) uint64 {
	switch number, some := e.dropped[v.Chat]; {
	case v.Host:
		return e.droppedAny
	case some:
		return number
	}
	return e.droppedLast
}

// page returns the events that a viewer asks for.
func (e *eventLog) page(v viewer, req procmgr.EventsRequest) procmgr.EventPage {
	after, known := e.place(req.After)
	page := procmgr.EventPage{Gap: !known || after < e.droppedFor(v)}
	all := e.order
	if !v.Host {
		all = e.kept.byChat[v.Chat]
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

// listen returns the bell of a viewer.
func (e *eventLog) listen(v viewer) *bell {
	b := e.bells[v]
	if b == nil {
		b = &bell{rings: make(chan struct{})}
		e.bells[v] = b
	}
	b.ears++
	return b
}

// leave is called by a viewer that no longer waits for a bell.
func (e *eventLog) leave(v viewer, b *bell) {
	if b.ears--; b.ears == 0 && e.bells[v] == b {
		delete(e.bells, v)
	}
}

func (e *eventLog) ring(v viewer) {
	if b := e.bells[v]; b != nil {
		delete(e.bells, v)
		close(b.rings)
	}
}

// close wakes everybody who waits. There are no more events.
func (e *eventLog) close() {
	e.closed = true
	for v := range e.bells {
		e.ring(v)
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
