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
	// round is how often the watcher finds out whether a process has printed something.
	round = 100 * time.Millisecond
	// rest is how long the watcher rests after a round for each process in it, up to
	// maxRest. So the looks at many processes come together, and rounds cost little.
	rest    = 250 * time.Microsecond
	maxRest = 250 * time.Millisecond
)

// A Process is one that a Watcher watches. A nil *Process never waits.
type Process struct {
	of *Watcher
	Source

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
	told    bool  // Source.Began was called for it
	before  int64 // writes that were before it
	waiters map[chan struct{}]bool
}

// A Source tells about a process. Its functions are called without a lock of the
// caller's.
type Source struct {
	Chat string
	// Look looks whether a member waits.
	Look func() (Found, bool)
	// Active returns when the process has last printed, or was written to, and how
	// often it was written to.
	Active func() (at time.Time, writes int64)
	// Began is called each time that a member has begun to wait.
	Began func(Found)
}

// look looks if it is time for that, and returns when it is next. If now is set, it
// looks without a pause between two looks, and waits for one that is under way. If tell
// is set, or if a call waits, it tells of a wait that has begun.
func (p *Process) look(now, tell bool) (next time.Time) {
	p.mu.Lock()
	p.refresh()
	if under := p.looking; under != nil {
		next = p.next
		p.mu.Unlock()
		if now {
			<-under // it takes no longer than a Reader's patience
		}
		return next
	}
	at, writes, began := p.at, p.writes, time.Now()
	if next = p.next; now {
		next = at.Add(quiet)
	}
	if began.Before(next) {
		p.mu.Unlock()
		return next
	}
	p.looking = make(chan struct{})
	again := p.begun
	p.mu.Unlock()

	found, ok := p.Look()
	for tries := 0; !ok && again && tries < 3; tries++ {
		// It may have run for a moment, as a program does that waits with a timeout.
		time.Sleep(2 * time.Millisecond)
		found, ok = p.Look()
	}

	p.mu.Lock()
	close(p.looking)
	p.looking = nil
	p.refresh()
	if !p.at.Equal(at) || p.writes != writes {
		defer p.mu.Unlock()
		return p.next // the look is of before
	}
	if !now && !began.Before(p.next) {
		p.pause = min(max(2*p.pause, firstPause), maxPause)
		p.next = time.Now().Add(p.pause)
	}
	next = p.next
	if !ok {
		p.waits, p.begun = false, false
		p.mu.Unlock()
		return next
	}
	if since := p.found.Since; p.begun && p.found.PID == found.PID && p.before == writes {
		found.Since = since
	} else {
		found.Since, p.told, p.before = time.Now(), false, writes
	}
	p.waits, p.begun, p.found = true, true, found
	tell = (tell || len(p.waiters) > 0) && !p.told
	p.told = p.told || tell
	waiters := p.waiters
	p.waiters = nil
	p.mu.Unlock()
	if tell {
		p.Began(found)
	}
	for waiter := range waiters {
		close(waiter) // after the event, so that whoever has waited finds it
	}
	return next
}

// refresh forgets what was seen before the last activity. The caller holds mu.
func (p *Process) refresh() {
	if at, writes := p.Active(); !at.Equal(p.at) || writes != p.writes {
		p.at, p.writes = at, writes
		p.next, p.pause, p.waits = at.Add(quiet), 0, false
	}
}

// Now looks, and returns the member that waits for input.
func (p *Process) Now() (found Found, ok bool) {
	if p == nil {
		return found, false
	}
	p.look(true, false)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refresh()
	return p.found, p.waits
}

// Until returns a channel that is closed once a member waits for input. The caller
// calls leave.
func (p *Process) Until() (waits <-chan struct{}, leave func()) {
	if p == nil {
		return nil, func() {}
	}
	waiter := make(chan struct{})
	p.look(true, true)
	p.mu.Lock()
	if p.refresh(); p.waits {
		close(waiter)
		p.mu.Unlock()
		return waiter, func() {}
	}
	if p.waiters == nil {
		p.waiters = make(map[chan struct{}]bool)
	}
	p.waiters[waiter] = true
	p.mu.Unlock()
	p.of.begin()
	return waiter, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.waiters, waiter)
	}
}

// wanted reports whether a call waits for the process.
func (p *Process) wanted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiters) > 0
}

// A Watcher finds out which processes wait for input, while somebody wants to know. It
// looks when the output of a process has been quiet for a while, and then more and more
// rarely. The zero value watches none.
type Watcher struct {
	mu        sync.Mutex // guards the fields below
	all       map[*Process]bool
	everyone  int            // callers that follow the events of all chats
	following map[string]int // of one chat
	running   bool           // the goroutine that looks
	closed    bool           // it does not begin any more
	wake      chan struct{}  // wakes it, if it sleeps; has room for one
	wg        sync.WaitGroup // it
}

// Add adds a process. It returns nil if nobody can tell on this system.
func (w *Watcher) Add(s Source) *Process {
	if !Supported {
		return nil
	}
	p := &Process{of: w, Source: s}
	w.mu.Lock()
	if w.all == nil {
		w.all, w.following, w.wake = make(map[*Process]bool), make(map[string]int), make(chan struct{}, 1)
	}
	w.all[p] = true
	w.mu.Unlock()
	w.begin()
	return p
}

// Remove removes a process that has ended. p may be nil.
func (w *Watcher) Remove(p *Process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, p)
}

// Follow looks at the processes of a chat, or of all chats, until the caller calls
// leave.
func (w *Watcher) Follow(chat string, all bool) (leave func()) {
	count := func(delta int) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if all {
			w.everyone += delta
			return
		}
		if w.following == nil {
			w.following = make(map[string]int)
		}
		if w.following[chat] += delta; w.following[chat] == 0 {
			delete(w.following, chat)
		}
	}
	count(1)
	w.begin()
	return func() { count(-1) }
}

// Once looks at those processes of a chat, or of all chats, for which it is time.
func (w *Watcher) Once(chat string, all bool) {
	w.mu.Lock()
	var due []*Process
	for p := range w.all {
		if all || p.Chat == chat {
			due = append(due, p)
		}
	}
	w.mu.Unlock()
	for _, p := range due {
		p.look(false, true)
	}
}

// begin sees to it that a goroutine looks, as long as somebody wants to know. The
// goroutine ends by itself, a round after the last one has left. Close waits for it.
func (w *Watcher) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case len(w.all) == 0 || w.closed:
	case w.running:
		w.poke()
	default:
		w.running = true
		w.wg.Go(w.run)
	}
}

// poke wakes the goroutine that looks. The caller holds mu.
func (w *Watcher) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Close ends the goroutine that looks, and waits for it.
func (w *Watcher) Close() {
	w.mu.Lock()
	w.closed = true
	w.poke()
	w.mu.Unlock()
	w.wg.Wait()
}

// run looks until nobody wants to know.
func (w *Watcher) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var wanted []*Process
	for {
		if wanted = w.wanted(wanted[:0]); len(wanted) == 0 {
			return
		}
		next := time.Now().Add(round)
		for _, p := range wanted {
			if due := p.look(false, true); due.Before(next) {
				next = due
			}
		}
		timer.Reset(max(time.Until(next), min(time.Duration(len(wanted))*rest, maxRest)))
		select {
		case <-timer.C:
		case <-w.wake:
		}
	}
}

// wanted appends the processes about which somebody wants to know. If there is none,
// the goroutine that looks ends.
func (w *Watcher) wanted(to []*Process) []*Process {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p := range w.all {
		if !w.closed && (w.everyone > 0 || w.following[p.Chat] > 0 || p.wanted()) {
			to = append(to, p)
		}
	}
	w.running = len(to) > 0
	return to
}
