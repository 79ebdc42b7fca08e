package prompt

import (
	"sync"
	"time"
)

const (
	// quiet is how long the output has to be quiet before a look. A program that
	// has just printed its question has not begun to read.
	quiet = 200 * time.Millisecond
	// firstPause and maxPause are the times between two looks at a process that does
	// not print. Each pause is twice as long as the one before it.
	firstPause = 400 * time.Millisecond
	maxPause   = 5 * time.Second
)

// A Watch finds out whether one process waits for input, for all callers that want to
// know. It looks when the output of the process has been quiet for a while, and then
// more and more rarely. A nil *Watch never finds anything.
type Watch struct {
	// Waiting looks whether a member waits.
	Waiting func() (Found, bool)
	// Active returns when the process has last printed, or was written to, and how
	// often it was written to. It costs next to nothing.
	Active func() (at time.Time, writes int64)
	// Began is called each time that a member has begun to wait, unless only Now has
	// looked.
	Began func(Found)

	// mu guards the fields below. It is held for moments only.
	mu      sync.Mutex
	looking chan struct{} // closed when the look is over that is under way; nil if none is
	at      time.Time     // the last activity that the fields below know of
	writes  int64
	next    time.Time // of the next look
	pause   time.Duration
	waits   bool // found holds: there was no activity since
	found   Found
	begun   bool  // the wait of found goes on, as far as was seen
	told    bool  // Began was called for it
	before  int64 // writes that were before it
}

// Now looks if the output is quiet, and returns the member that waits for input.
func (w *Watch) Now() (found Found, ok bool) {
	if w == nil {
		return found, false
	}
	w.look(true, false)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refresh()
	return w.found, w.waits
}

// Look looks if it is time for that, and returns whether a member waits, and how long
// the next look is off if nothing is printed. With now it does not wait for the end of
// the pause between two looks. If a member has begun to wait, Began has been called.
func (w *Watch) Look(now bool) (waits bool, next time.Duration) {
	if w == nil {
		return false, maxPause
	}
	w.look(now, true)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refresh()
	return w.waits, time.Until(w.next)
}

// look looks if it is time for that. If now is set, it looks without a pause between two
// looks, and waits for one that is under way. If tell is set, it tells of a wait that has
// begun.
func (w *Watch) look(now, tell bool) {
	w.mu.Lock()
	w.refresh()
	if under := w.looking; under != nil {
		w.mu.Unlock()
		if now {
			<-under // it takes no longer than a Reader's patience
		}
		return
	}
	at, writes, began := w.at, w.writes, time.Now()
	next := w.next
	if now {
		next = at.Add(quiet)
	}
	if began.Before(next) {
		w.mu.Unlock()
		return
	}
	w.looking = make(chan struct{})
	again := w.begun
	w.mu.Unlock()

	found, ok := w.Waiting()
	for tries := 0; !ok && again && tries < 3; tries++ {
		// It may have run for a moment, as a program does that waits with a timeout.
		time.Sleep(2 * time.Millisecond)
		found, ok = w.Waiting()
	}

	w.mu.Lock()
	close(w.looking)
	w.looking = nil
	if w.refresh(); !w.at.Equal(at) || w.writes != writes {
		w.mu.Unlock()
		return // the look is of before
	}
	if !began.Before(w.next) {
		w.pause = min(max(2*w.pause, firstPause), maxPause)
		w.next = time.Now().Add(w.pause)
	}
	if w.waits = ok; !ok {
		w.begun = false
		w.mu.Unlock()
		return
	}
	if since := w.found.Since; w.begun && w.found.PID == found.PID && w.before == writes {
		found.Since = since
	} else {
		found.Since, w.told, w.before = time.Now(), false, writes
	}
	w.begun, w.found = true, found
	tell = tell && !w.told
	w.told = w.told || tell
	w.mu.Unlock()
	if tell {
		w.Began(found)
	}
}

// refresh forgets what was seen before the last activity. The caller holds mu.
func (w *Watch) refresh() {
	if at, writes := w.Active(); !at.Equal(w.at) || writes != w.writes {
		w.at, w.writes = at, writes
		w.next, w.pause, w.waits = at.Add(quiet), 0, false
	}
}
