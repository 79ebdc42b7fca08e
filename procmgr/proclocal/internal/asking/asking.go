// Package asking finds out which processes wait for input, while somebody wants to
// know. It looks when the output of a process has been quiet for a while, and then more
// and more rarely.
package asking

import (
	"sync"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

const (
	// quiet is how long the output has to be quiet before a look. A program that
	// has just printed its question has not begun to read.
	quiet = 200 * time.Millisecond
	// firstPause and maxPause are the times between two looks at a process that does
	// not print. Each pause is twice as long as the one before it.
	firstPause = 400 * time.Millisecond
	maxPause   = 5 * time.Second
	// round is how often the goroutine that looks finds out whether a process has
	// printed something. That costs a look at a number, and so output costs nothing.
	round = 100 * time.Millisecond
	// rest is how long the goroutine rests after a round for each process in it, up to
	// maxRest. So the looks at many processes come together, and rounds cost little.
	rest    = 250 * time.Microsecond
	maxRest = 250 * time.Millisecond
)

// A Process is one that has a stdin. A nil *Process never waits.
type Process struct {
	of *Looks
	Source

	// stamp and due are for the goroutine that looks: the Stamp at its last look, and
	// when the next one is to be.
	stamp uint64
	due   time.Time

	// mu guards the fields below. It is held for moments only.
	mu      sync.Mutex
	looking chan struct{} // closed when the look is over that is under way; nil if none is
	at      time.Time     // the last activity that the fields below know of
	writes  int64
	next    time.Time // of the next look
	pause   time.Duration
	waiting *procmgr.Waiting // nil if none waits, or if there was activity since
	begun   *begun           // the wait that goes on, as far as was seen; nil if none does
	bells   map[chan struct{}]bool
}

// A begun is a wait that goes on.
type begun struct {
	pid    int
	since  time.Time
	told   bool  // Source.Began was called
	writes int64 // that were before it
}

// A Source tells about a process. Its functions hold no lock of the Local.
type Source struct {
	Chat string
	// Look looks whether a member waits.
	Look func() (osproc.Waiting, bool)
	// Active returns when the process has last printed, or was written to, and how
	// often it was written to.
	Active func() (at time.Time, writes int64)
	// Stamp returns a number that changes whenever Active does. It costs next to
	// nothing.
	Stamp func() uint64
	// Began is called each time that a member has begun to wait.
	Began func(procmgr.Waiting)
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
			<-under // it takes no longer than osproc's patience
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
	before := p.begun
	p.mu.Unlock()

	found, ok := p.Look()
	for tries := 0; !ok && before != nil && tries < 3; tries++ {
		// It may have run for a moment, as a program does that waits with a timeout.
		time.Sleep(2 * time.Millisecond)
		found, ok = p.Look()
	}

	p.mu.Lock()
	close(p.looking)
	p.looking = nil
	p.refresh()
	if !p.at.Equal(at) || p.writes != writes {
		next = p.next
		p.mu.Unlock()
		return next // the look is of before
	}
	if !now && !began.Before(p.next) {
		p.pause = min(max(2*p.pause, firstPause), maxPause)
		p.next = time.Now().Add(p.pause)
	}
	next = p.next
	if !ok {
		p.waiting, p.begun = nil, nil
		p.mu.Unlock()
		return next
	}
	if p.begun == nil || p.begun.pid != found.PID || p.begun.writes != writes {
		p.begun = &begun{pid: found.PID, since: time.Now(), writes: writes}
	}
	begun := p.begun
	tell = (tell || len(p.bells) > 0) && !begun.told
	begun.told = begun.told || tell
	waiting := procmgr.Waiting{Since: begun.since, PID: found.PID, Program: found.Program, Secret: found.Secret}
	p.waiting = &waiting
	bells := p.bells
	p.bells = nil
	p.mu.Unlock()
	if tell {
		p.Began(waiting)
	}
	for bell := range bells {
		close(bell) // after the event, so that whoever has waited finds it
	}
	return next
}

// refresh forgets what was seen before the last activity. The caller holds mu.
func (p *Process) refresh() {
	if at, writes := p.Active(); !at.Equal(p.at) || writes != p.writes {
		p.at, p.writes = at, writes
		p.next, p.pause, p.waiting = at.Add(quiet), 0, nil
	}
}

// Now looks, and returns the member that waits for input, or nil.
func (p *Process) Now() *procmgr.Waiting {
	if p == nil {
		return nil
	}
	p.look(true, false)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refresh()
	if p.waiting == nil {
		return nil
	}
	waiting := *p.waiting
	return &waiting
}

// Until returns a channel that is closed once a member waits for input. The caller
// calls leave.
func (p *Process) Until() (waits <-chan struct{}, leave func()) {
	if p == nil {
		return nil, func() {}
	}
	bell := make(chan struct{})
	p.look(true, true)
	p.mu.Lock()
	if p.refresh(); p.waiting != nil {
		close(bell)
		p.mu.Unlock()
		return bell, func() {}
	}
	if p.bells == nil {
		p.bells = make(map[chan struct{}]bool)
	}
	p.bells[bell] = true
	p.mu.Unlock()
	p.of.begin()
	return bell, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.bells, bell)
	}
}

// wanted reports whether a call waits for the process.
func (p *Process) wanted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.bells) > 0
}

// Looks are the looks at all processes of a Local that have a stdin. The zero value has
// none.
type Looks struct {
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
func (l *Looks) Add(s Source) *Process {
	if !osproc.TellsWaiting {
		return nil
	}
	p := &Process{of: l, Source: s}
	l.mu.Lock()
	if l.all == nil {
		l.all = make(map[*Process]bool)
	}
	l.all[p] = true
	l.mu.Unlock()
	l.begin()
	return p
}

// Remove removes a process that has ended. p may be nil.
func (l *Looks) Remove(p *Process) {
	if p == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, p)
}

// Follow looks at the processes of a chat, or of all chats, until the caller calls
// leave.
func (l *Looks) Follow(chat string, all bool) (leave func()) {
	l.count(chat, all, 1)
	l.begin()
	return func() { l.count(chat, all, -1) }
}

func (l *Looks) count(chat string, all bool, delta int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if all {
		l.everyone += delta
		return
	}
	if l.following == nil {
		l.following = make(map[string]int)
	}
	if l.following[chat] += delta; l.following[chat] == 0 {
		delete(l.following, chat)
	}
}

// Once looks at those processes of a chat, or of all chats, for which it is time.
func (l *Looks) Once(chat string, all bool) {
	l.mu.Lock()
	var due []*Process
	for p := range l.all {
		if all || p.Chat == chat {
			due = append(due, p)
		}
	}
	l.mu.Unlock()
	for _, p := range due {
		p.look(false, true)
	}
}

// begin sees to it that a goroutine looks, as long as somebody wants to know. The
// goroutine ends by itself, a round after the last one has left. Close waits for it.
func (l *Looks) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) == 0 || l.closed {
		return
	}
	if l.wake == nil {
		l.wake = make(chan struct{}, 1)
	}
	if l.running {
		select {
		case l.wake <- struct{}{}:
		default:
		}
		return
	}
	l.running = true
	l.wg.Go(l.run)
}

// Close ends the goroutine that looks, and waits for it.
func (l *Looks) Close() {
	l.mu.Lock()
	l.closed = true
	if l.running {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
	l.mu.Unlock()
	l.wg.Wait()
}

// run looks until nobody wants to know.
func (l *Looks) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var wanted []*Process
	for {
		if wanted = l.wanted(wanted[:0]); len(wanted) == 0 {
			return
		}
		now := time.Now()
		next := now.Add(round)
		for _, p := range wanted {
			if stamp := p.Stamp(); stamp != p.stamp || !now.Before(p.due) {
				p.stamp, p.due = stamp, p.look(false, true)
			}
			if p.due.Before(next) {
				next = p.due
			}
		}
		timer.Reset(max(time.Until(next), min(time.Duration(len(wanted))*rest, maxRest)))
		select {
		case <-timer.C:
		case <-l.wake:
		}
	}
}

// wanted appends the processes about which somebody wants to know. If there is none,
// the goroutine that looks ends.
func (l *Looks) wanted(to []*Process) []*Process {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range l.all {
		if l.closed {
			break
		}
		if l.everyone > 0 || l.following[p.Chat] > 0 || p.wanted() {
			to = append(to, p)
		}
	}
	l.running = len(to) > 0
	return to
}
