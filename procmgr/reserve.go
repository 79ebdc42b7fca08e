package procmgr

import (
	"slices"
	"strings"

	"golang.org/x/xerrors"
)

// used returns the record or the tombstone of the ID of a Start, or neither if
// the ID is unused. It returns an error if the Local is closed, if the ID
// belongs to another fingerprint, or if a stop has spent the ID. The caller
// holds mu.
func (l *Local) used(chat, id string, key fingerprint) (*record, *tombstone, error) {
	if l.closed {
		return nil, nil, ErrClosed
	}
	if id == "" {
		return nil, nil, nil
	}
	r, past := l.lookup(chat, id)
	switch {
	case past != nil && past.spent:
		return nil, nil, xerrors.Errorf("it was stopped before it began, so nothing was run; take another ID to run it after all: %w", ErrConflict)
	case r != nil && r.key != key, past != nil && past.key != key:
		return nil, nil, xerrors.Errorf("this ID ran another command, directory or environment; take another ID: %w", ErrConflict)
	}
	return r, past, nil
}

// lookup returns the record or the tombstone that has an ID in one chat, or
// neither. The caller holds mu.
func (l *Local) lookup(chat, id string) (*record, *tombstone) {
	if r := l.chats.get(chat, id); r != nil {
		return r, nil
	}
	return nil, l.past.get(chat, id)
}

// reserve makes the record of a process that the caller will launch, if there
// is room for it. The caller holds mu.
func (l *Local) reserve(chat, id string, key fingerprint) (*record, error) {
	if err := l.room(chat); err != nil {
		return nil, err
	}
	for id == "" {
		id = NewID()
		if r, past := l.lookup(chat, id); r != nil || past != nil {
			id = ""
		}
	}
	l.seq++
	r := &record{
		opts:    &l.opts,
		id:      id,
		chat:    chat,
		seq:     l.seq,
		key:     key,
		ready:   make(chan struct{}),
		changed: make(chan struct{}),
	}
	l.chats.begun(r)
	l.wg.Add(1)
	return r, nil
}

// forget gives up a reservation: nothing was started, and the ID is unused.
func (l *Local) forget(r *record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.chats.ended(r)
	l.chats.remove(r)
	l.wg.Done()
}

// room returns an error that says why another process cannot start, or nil. The
// processes that the host itself starts are in no chat. The caller holds mu.
func (l *Local) room(chat string) error {
	own := l.chats.runningIn(chat)
	var limit int
	var whose string
	switch {
	case chat != "" && own >= l.opts.MaxRunningPerChat:
		limit, whose = l.opts.MaxRunningPerChat, "in this chat"
	case l.chats.running >= l.opts.MaxRunning:
		limit, whose = l.opts.MaxRunning, "on this host"
	default:
		return nil
	}
	if own == 0 {
		return xerrors.Errorf("%d processes run %s, which is the limit; try again when some have ended: %w", limit, whose, ErrLimit)
	}
	return xerrors.Errorf("%d processes run %s, which is the limit; end one of this chat's first (the oldest are %s): %w",
		limit, whose, oldest(l.chats.of(chat)), ErrLimit)
}

// oldest names the first few of the records that have not exited.
func oldest(all []*record) string {
	const most = 5
	live := slices.DeleteFunc(all, (*record).exited)
	inOrder(live)
	ids := make([]string, 0, most+1)
	for _, r := range live[:min(most, len(live))] {
		ids = append(ids, r.id)
	}
	if len(live) > most {
		ids = append(ids, "…")
	}
	return strings.Join(ids, ", ")
}
