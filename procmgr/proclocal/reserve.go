package proclocal

import (
	"slices"
	"strings"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal/internal/retention"
)

// used looks up the ID that a Start asks for. If an earlier Start has used the ID
// for the same request, used returns the record or the tombstone of that
// process. If the ID is unused or empty, it returns neither. The error is
// ErrClosed if the Local is closed. It is ErrConflict if the ID was used for
// another request, or if a Terminate or a Kill came before the Start and has
// spent the ID. The caller holds mu.
func (l *Local) used(chat, id string, key retention.Fingerprint) (*record, *retention.Tombstone, error) {
	if l.closed {
		return nil, nil, procmgr.ErrClosed
	}
	if id == "" {
		return nil, nil, nil
	}
	r, past := l.lookup(chat, id)
	switch {
	case past != nil && past.Spent:
		return nil, nil, xerrors.Errorf("it was stopped before it began, so nothing was run; take another ID to run it after all: %w", procmgr.ErrConflict)
	case r != nil && r.key != key, past != nil && past.Key != key:
		return nil, nil, xerrors.Errorf("this ID ran another command, directory, environment or stdin; take another ID: %w", procmgr.ErrConflict)
	}
	return r, past, nil
}

// lookup returns the record or the tombstone that has an ID in one chat, or
// neither. The caller holds mu.
func (l *Local) lookup(chat, id string) (*record, *retention.Tombstone) {
	if r := l.chats.get(chat, id); r != nil {
		return r, nil
	}
	return nil, l.past.Get(chat, id)
}

// chatOf finds the one chat that has used an ID.
func (l *Local) chatOf(id string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := append(l.past.ChatsOf(id), l.chats.chatsOf(id)...)
	switch len(found) {
	case 0:
		return "", procmgr.ErrNotFound
	case 1:
		return found[0], nil
	}
	return "", xerrors.Errorf("%d chats have a process with this ID, ask in the chat: %w", len(found), procmgr.ErrConflict)
}

// nobodyTold is record.told if there is no OnStart.
var nobodyTold = func() chan struct{} {
	told := make(chan struct{})
	close(told)
	return told
}()

// reserve makes the record of a process that the caller will launch. If id is
// empty, the record gets a new ID. If there is no room for the process, reserve
// returns an error. The caller holds mu.
func (l *Local) reserve(chat, id string, key retention.Fingerprint, terminal bool) (*record, error) {
	if err := l.room(chat, terminal); err != nil {
		return nil, err
	}
	for id == "" {
		id = procmgr.NewID()
		if r, past := l.lookup(chat, id); r != nil || past != nil {
			id = ""
		}
	}
	l.seq++
	r := &record{
		opts:     &l.opts,
		id:       id,
		chat:     chat,
		seq:      l.seq,
		key:      key,
		terminal: terminal,
		ready:    make(chan struct{}),
		told:     nobodyTold,
	}
	if l.opts.OnStart != nil {
		r.told = make(chan struct{})
	}
	l.chats.begun(r)
	l.wg.Add(1)
	return r, nil
}

// maxTerminals is how many terminals a chat may have.
const maxTerminals = 64

// room returns nil if the chat can start another process. If not, the error says
// which limit is reached. If chat is "", the host itself starts the process, and
// no limit of a chat applies. The caller holds mu.
func (l *Local) room(chat string, terminal bool) error {
	own := l.chats.runningIn(chat)
	if terminal && chat != "" && l.chats.terminalsIn(chat) >= maxTerminals {
		return xerrors.Errorf("%d processes of this chat have a terminal, which is the limit; end one of them first: %w", maxTerminals, procmgr.ErrLimit)
	}
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
		return xerrors.Errorf("%d processes run %s, which is the limit; try again when some have ended: %w", limit, whose, procmgr.ErrLimit)
	}
	return xerrors.Errorf("%d processes run %s, which is the limit; end one of this chat's first (the oldest are %s): %w",
		limit, whose, oldest(l.chats.of(chat)), procmgr.ErrLimit)
}

// oldest lists the IDs of the few processes that began first and have not exited.
func oldest(all []*record) string {
	const most = 5
	live := slices.DeleteFunc(all, (*record).exited)
	ids := make([]string, 0, most+1)
	for _, r := range live[:min(most, len(live))] {
		ids = append(ids, r.id)
	}
	if len(live) > most {
		ids = append(ids, "…")
	}
	return strings.Join(ids, ", ")
}
