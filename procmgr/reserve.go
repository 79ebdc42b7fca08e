package procmgr

import (
	"cmp"
	"runtime"
	"slices"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// reserve finds out what a Start with this ID is to do. It returns the record
// that the caller is to launch (mine), one that another call launches or has
// launched, or the tombstone of one that has gone.
func (l *Local) reserve(chat string, req StartRequest) (r *record, past *tombstone, mine bool, err error) {
	key := fingerprintOf(req)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, nil, false, ErrClosed
	}
	c := l.chats[chat]
	if req.ID == "" {
		req.ID = NewID()
		for (c != nil && c.byID[req.ID] != nil) || l.past.get(chat, req.ID) != nil {
			req.ID = NewID()
		}
	}
	if c != nil && c.byID[req.ID] != nil {
		r := c.byID[req.ID]
		if r.key != key {
			return nil, nil, false, conflict()
		}
		return r, nil, false, nil
	}
	if t := l.past.get(chat, req.ID); t != nil {
		switch {
		case t.spent:
			return nil, nil, false, xerrors.Errorf("it was stopped before it began, so nothing was run; take another ID to run it after all: %w", ErrConflict)
		case t.key != key:
			return nil, nil, false, conflict()
		}
		return nil, t, false, nil
	}
	if err := l.room(chat, c); err != nil {
		return nil, nil, false, err
	}
	c = l.chatRecords(chat)
	l.seq++
	r = &record{
		local:   l,
		id:      req.ID,
		chat:    chat,
		seq:     l.seq,
		key:     key,
		ready:   make(chan struct{}),
		changed: make(chan struct{}),
	}
	c.byID[r.id] = r
	c.running++
	l.running++
	l.wg.Add(1)
	return r, nil, true, nil
}

// chatRecords returns a chat's records, new ones where it has none. The caller
// holds mu.
func (l *Local) chatRecords(chat string) *records {
	c := l.chats[chat]
	if c == nil {
		c = &records{byID: make(map[string]*record)}
		l.chats[chat] = c
	}
	return c
}

func conflict() error {
	return xerrors.Errorf("this ID ran another command, directory or environment; take another ID: %w", ErrConflict)
}

// room says what is in the way of another process. What the host itself starts
// is in no chat. The caller holds mu.
func (l *Local) room(chat string, c *records) error {
	own := 0
	if c != nil {
		own = c.running
	}
	var limit int
	var whose string
	switch {
	case chat != "" && own >= l.opts.MaxRunningPerChat:
		limit, whose = l.opts.MaxRunningPerChat, "in this chat"
	case l.running >= l.opts.MaxRunning:
		limit, whose = l.opts.MaxRunning, "on this host"
	default:
		return nil
	}
	if own == 0 {
		return xerrors.Errorf("%d processes run %s, which is the limit; try again when some have ended: %w", limit, whose, ErrLimit)
	}
	return xerrors.Errorf("%d processes run %s, which is the limit; end one of this chat's first (the oldest are %s): %w",
		limit, whose, quoteIDs(c.live()), ErrLimit)
}

// live returns the IDs of what has not exited, the oldest first.
func (c *records) live() []string {
	var live []*record
	for _, r := range c.byID {
		if !r.exited() {
			live = append(live, r)
		}
	}
	slices.SortFunc(live, func(a, b *record) int { return cmp.Compare(a.seq, b.seq) })
	ids := make([]string, len(live))
	for i, r := range live {
		ids[i] = r.id
	}
	return ids
}

// forget gives a reservation up: nothing was started, and the ID is unused.
func (l *Local) forget(r *record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
	l.chats[r.chat].running--
	l.remove(r)
	l.wg.Done()
}

// remove takes a record out of its chat. The caller holds mu.
func (l *Local) remove(r *record) {
	c := l.chats[r.chat]
	delete(c.byID, r.id)
	if len(c.byID) == 0 {
		delete(l.chats, r.chat)
	}
}

// finish tells that nothing is left of a process. By the time that anybody
// hears of it, it no longer counts as running.
// It returns the process as it was then.
func (l *Local) finish(r *record, end osproc.Exit, at time.Time) Process {
	l.mu.Lock()
	exited := l.over(r, at, func() { r.leave(end) })
	r.unswept = !r.tree.Sealed()
	l.mu.Unlock()
	runtime.Gosched() // who waits for the result goes first

	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweepLater(r)
	l.expire()
	return exited
}

// finishAgain is finish for what had come back.
func (l *Local) finishAgain(r *record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over(r, time.Now(), func() {
		if r.asked != "" {
			r.process.EndedBy = r.asked
		}
	})
	l.expire()
}

// over turns a record to exited. The caller holds mu.
func (l *Local) over(r *record, at time.Time, note func()) Process {
	l.running--
	l.chats[r.chat].running--
	r.mu.Lock()
	note()
	r.process.ExitedAt = at
	r.turn(Exited)
	exited := r.withLog(r.process.clone())
	r.mu.Unlock()
	r.exit = l.exits.PushBack(r)
	return exited
}
