package retention

import (
	"crypto/rand"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

const (
	// MaxEvents is how many events are kept, and MaxChatEvents how many of
	// one chat.
	MaxEvents     = 16384
	MaxChatEvents = 1024
	// defaultEvents is how many events a page has if its request does not say.
	defaultEvents = 100
)

// Events keep the newest events of all chats.
type Events struct {
	instance string    // of the Local: it tells the cursors of two from each other
	Closed   bool      // there will be no more
	newest   uint64    // the number of the newest event; the first one has 1
	at       time.Time // of the newest event
	byChat   *Fair[*entry]
	order    []*entry // of all chats, the oldest first; those that were dropped are still in it for a while
	// dropped is the newest event of each chat that was dropped, as long as
	// others of the chat are kept; droppedAny is the newest one of all chats,
	// and droppedLast the newest one that was the last of its chat.
	dropped     map[string]uint64
	droppedAny  uint64
	droppedLast uint64
	bells       map[Viewer]*Bell
}

// An entry is an event with its number, by which all events are in order.
type entry struct {
	number  uint64
	dropped bool
	event   procmgr.Event
}

// A Viewer is a chat, or the host that sees all chats.
type Viewer struct {
	Chat string
	Host bool
}

// A Bell wakes the callers that wait for an event which a viewer can see.
type Bell struct {
	Rings chan struct{} // closed at the next event
	ears  int
}

// NewEvents returns Events that have none.
func NewEvents() *Events {
	e := &Events{instance: rand.Text(), dropped: make(map[string]uint64), bells: make(map[Viewer]*Bell)}
	e.byChat = NewFair(MaxEvents, e.drop)
	return e
}

// Add adds an event.
func (e *Events) Add(chat string, event procmgr.Event) {
	if event.At.Before(e.at) {
		event.At = e.at // the end of a process is known only when its last output has been read
	}
	e.at = event.At
	e.newest++
	it := &entry{number: e.newest, event: event}
	e.order = append(e.order, it)
	e.byChat.Add(chat, it)
	e.byChat.trim(chat, MaxChatEvents)
	e.ring(Viewer{Chat: chat})
	e.ring(Viewer{Host: true})
}

// drop notes that an event is kept no more.
func (e *Events) drop(chat string, it *entry) {
	it.dropped = true
	it.event = procmgr.Event{}
	e.droppedAny = max(e.droppedAny, it.number)
	if len(e.byChat.of(chat)) > 0 {
		e.dropped[chat] = it.number
	} else {
		// Chats come and go without bound, so that not each of them can have
		// a number of its own.
		delete(e.dropped, chat)
		e.droppedLast = max(e.droppedLast, it.number)
	}
	if len(e.order) > 2*e.byChat.count+defaultEvents {
		e.order = slices.DeleteFunc(e.order, func(it *entry) bool { return it.dropped })
	}
}

// droppedFor returns the number of the newest event that is kept no more and
// that a viewer may have seen.
func (e *Events) droppedFor(v Viewer) uint64 {
	switch number, some := e.dropped[v.Chat]; {
	case v.Host:
		return e.droppedAny
	case some:
		return number
	}
	return e.droppedLast
}

// Page returns the events that a viewer asks for.
func (e *Events) Page(v Viewer, req procmgr.EventsRequest) procmgr.EventPage {
	after, known := e.place(req.After)
	page := procmgr.EventPage{Gap: !known || after < e.droppedFor(v)}
	all := e.order
	if !v.Host {
		all = e.byChat.of(v.Chat)
	}
	limit := req.Limit
	if limit == 0 {
		limit = defaultEvents
	}
	first, _ := slices.BinarySearchFunc(all, after+1, func(it *entry, number uint64) int {
		if it.number < number {
			return -1
		}
		return 1
	})
	all = all[first:]
	for i, it := range all {
		if it.dropped {
			continue
		}
		if len(page.Events) == limit {
			break
		}
		if page.Events == nil {
			page.Events = make([]procmgr.Event, 0, min(uint(len(all)-i), uint(limit))) // a negative limit is none
		}
		event := it.event
		event.Process = Clone(event.Process)
		page.Events = append(page.Events, event)
		after = it.number
	}
	if len(page.Events) != limit {
		after = e.newest
	}
	page.Next = e.cursor(after)
	return page
}

// cursor returns the text that names the place behind an event.
func (e *Events) cursor(number uint64) string {
	return e.instance + "." + strconv.FormatUint(number, 10)
}

// place returns the number of the event behind which a cursor is. known is false
// if the cursor is not one of this Local.
func (e *Events) place(cursor string) (number uint64, known bool) {
	if cursor == "" {
		return 0, true
	}
	instance, text, _ := strings.Cut(cursor, ".")
	number, err := strconv.ParseUint(text, 10, 64)
	if err != nil || instance != e.instance || number > e.newest || e.cursor(number) != cursor {
		return 0, false
	}
	return number, true
}

// Listen returns the bell of a viewer.
func (e *Events) Listen(v Viewer) *Bell {
	b := e.bells[v]
	if b == nil {
		b = &Bell{Rings: make(chan struct{})}
		e.bells[v] = b
	}
	b.ears++
	return b
}

// Waiting returns how many callers wait.
func (e *Events) Waiting() (n int) {
	for _, b := range e.bells {
		n += b.ears
	}
	return n
}

// Leave is called by a viewer that no longer waits for a bell.
func (e *Events) Leave(v Viewer, b *Bell) {
	if b.ears--; b.ears == 0 && e.bells[v] == b {
		delete(e.bells, v)
	}
}

func (e *Events) ring(v Viewer) {
	if b := e.bells[v]; b != nil {
		delete(e.bells, v)
		close(b.Rings)
	}
}

// Close wakes everybody who waits. There are no more events.
func (e *Events) Close() {
	e.Closed = true
	for v := range e.bells {
		e.ring(v)
	}
}
