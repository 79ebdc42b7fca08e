package procmgr

import "time"

// An EventsRequest says from where to read events, and how long to wait for
// one.
type EventsRequest struct {
	// After is the Next of an earlier page: the events behind it are wanted.
	// "" begins with the oldest event that is kept. A text that is no Next of
	// this manager, such as one from before its restart, counts as "", and
	// the page has Gap.
	After string `json:"after,omitempty"`
	// Wait is the longest time to wait until there is an event; 0 returns at
	// once. A page with Gap does not wait.
	Wait time.Duration `json:"wait,omitzero"`
	// Limit is the largest number of events in the page; 0 is 100, and a
	// negative number is no limit.
	Limit int `json:"limit,omitzero"`
}

// An EventPage has the events from one place on, the oldest first.
type EventPage struct {
	Events []Event `json:"events"`
	// Next is the After of the next request. It is opaque, and has at most
	// 4 KiB, or as much for each machine of a Host of many. It is never "".
	Next string `json:"next"`
	// Gap reports that an event behind After, which this caller could have
	// seen, is kept no more, or that After is of another manager. List then
	// tells how things are. The page has the events that are still there, and
	// with its Next the gap is not told again.
	Gap bool `json:"gap,omitempty"`
}

// An Event is a change of a process.
type Event struct {
	// At is when it happened. An event that became known only after a later one has the
	// time of the event before it.
	At   time.Time `json:"at"`
	Kind EventKind `json:"kind"`
	// Process is the process as it was then. Its Command is cut after 256
	// bytes, with … at the end. Its LogPath is "" if the file has gone since.
	Process Process `json:"process"`
	// Line is the line that StartRequest.Notify matched, as valid UTF-8
	// without its end. Of a line of over 500 bytes it is the part around the
	// match, with … for the parts left out. If the line had not ended, it is
	// the part that was there. For another Kind it is "".
	Line string `json:"line,omitempty"`
}

// An EventKind names a change of a process.
type EventKind string

// A process starts first, and exits last.
const (
	// EventStarted: the command has begun.
	EventStarted EventKind = "started"
	// EventDetached: the leader has exited, and other members live on.
	EventDetached EventKind = "detached"
	// EventExited: nothing is left of the process.
	EventExited EventKind = "exited"
	// EventMatched: a line has matched StartRequest.Notify. It comes at most
	// once for a process.
	EventMatched EventKind = "matched"
	// EventWaiting: a member waits for input, and Process.Waiting says which. It
	// comes once for each time that it begins to wait: again if input was written,
	// if another member waits, or if none has waited in between. It is looked for
	// while a call waits for it, or waits for events, and when events are asked for.
	EventWaiting EventKind = "waiting"
)
