package proclocal

import (
	"maps"
	"slices"
	"strings"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/idempotency"
	"github.com/toolproc/toolproc/procmgr/proclocal/internal/input"
)

// used looks up the ID that a Start asks for. If an earlier Start has used the ID
// for the same request, used returns the answer to that. If the ID is unused or empty,
// it returns none. The error is
// ErrClosed if the Local is closed. It is ErrConflict if the ID was used for
// another request, or if a Terminate or a Kill came before the Start and has
// spent the ID. The caller holds mu.
func (l *Local) used(chat, id string, key idempotency.Fingerprint) (answer, error) {
	if l.closed {
		return answer{}, procmgr.ErrClosed
	}
	if id == "" {
		return answer{}, nil
	}
	a := l.table.get(chat, id)
	switch {
	case a.past != nil && a.past.spent:
		return answer{}, xerrors.Errorf("it was stopped before it began, so nothing was run; take another ID to run it after all: %w", procmgr.ErrConflict)
	case a.record != nil && a.record.key != key, a.past != nil && a.past.key != key:
		return answer{}, xerrors.Errorf("this ID ran another command, directory, environment or stdin; take another ID: %w", procmgr.ErrConflict)
	}
	return a, nil
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
func (l *Local) reserve(chat, id string, key idempotency.Fingerprint, terminal bool) (*record, error) {
	if err := l.room(chat, terminal); err != nil {
		return nil, err
	}
	for id == "" {
		id = procmgr.NewID()
		if l.table.get(chat, id) != (answer{}) {
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
		answers:  idempotency.Memo[input.Written]{Max: maxAnswers},
	}
	if l.opts.OnStart != nil {
		r.told = make(chan struct{})
	}
	l.table.begun(r)
	l.wg.Add(1)
	return r, nil
}

// maxAnswers is how many answers to inputs a process remembers.
const maxAnswers = 64

// maxTerminals is how many terminals a chat may have.
const maxTerminals = 64

// room returns nil if the chat can start another process. If not, the error says
// which limit is reached. If chat is "", the host itself starts the process, and
// no limit of a chat applies. The caller holds mu.
func (l *Local) room(chat string, terminal bool) error {
	own := l.table.of(chat)
	if terminal && chat != "" && own.terminals >= maxTerminals {
		return xerrors.Errorf("%d processes of this chat have a terminal, which is the limit; end one of them first: %w", maxTerminals, procmgr.ErrLimit)
	}
	var limit int
	var whose string
	switch {
	case chat != "" && own.running >= l.opts.MaxRunningPerChat:
		limit, whose = l.opts.MaxRunningPerChat, "in this chat"
	case l.table.running >= l.opts.MaxRunning:
		limit, whose = l.opts.MaxRunning, "on this host"
	default:
		return nil
	}
	if own.running == 0 {
		return xerrors.Errorf("%d processes run %s, which is the limit; try again when some have ended: %w", limit, whose, procmgr.ErrLimit)
	}
	return xerrors.Errorf("%d processes run %s, which is the limit; end one of this chat's first (the oldest are %s): %w",
		limit, whose, oldest(slices.Collect(maps.Keys(own.all))), procmgr.ErrLimit)
}

// oldest lists the IDs of the few processes that began first and have not exited.
func oldest(all []*record) string {
	const most = 5
	live := inOrder(slices.DeleteFunc(all, (*record).exited))
	ids := make([]string, 0, most+1)
	for _, r := range live[:min(most, len(live))] {
		ids = append(ids, r.id)
	}
	if len(live) > most {
		ids = append(ids, "…")
	}
	return strings.Join(ids, ", ")
}
