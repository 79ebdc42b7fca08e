package proclocal

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/baseenv"
	"github.com/toolproc/toolproc/procmgr/internal/check"
	"github.com/toolproc/toolproc/procmgr/internal/idempotency"
	"github.com/toolproc/toolproc/procmgr/proclocal/internal/input"
)

// A table has the answer to each start, by the chat and the ID: a record while the
// Local knows everything about the process, then a tombstone for a while. The Local's
// mu guards it.
type table struct {
	chats   map[string]*chatAnswers // that have any
	all     records
	running int // records that have not exited
	ended   *fair[*tombstone]
	made    time.Time // no ID is known that was used before
	// whole is when the table was made or, if later, when the newest ID that it has
	// forgotten was first used. No ID that was first used after it is forgotten.
	whole time.Time
}

// An answer has a record or a tombstone, or neither if the ID is unused.
type answer struct {
	record *record
	past   *tombstone
}

// chatAnswers are the answers of one chat.
type chatAnswers struct {
	byID    map[string]answer
	all     records
	running int
}

// records are in the order of their starts.
type records []*record

func (rs *records) remove(r *record) {
	i, _ := slices.BinarySearchFunc(*rs, r.seq, func(r *record, seq uint64) int { return cmp.Compare(r.seq, seq) })
	*rs = slices.Delete(*rs, i, i+1)
}

// A tombstone is the rest of a process whose record has been dropped, or of an ID that
// a stop has spent before its start.
type tombstone struct {
	id    string
	key   idempotency.Fingerprint
	used  time.Time      // when the ID was first used
	spent bool           // never started, and never to be started
	left  procmgr.Output // as of a request from the beginning on
}

func newTable() *table {
	now := time.Now()
	t := &table{chats: make(map[string]*chatAnswers), made: now, whole: now}
	t.ended = newFair(maxTombstones, maxTombstones, func(chat string, it kept[*tombstone]) {
		t.set(chat, it.item.id, answer{})
		if it.item.used.After(t.whole) {
			t.whole = it.item.used
		}
	})
	return t
}

// of returns the answers of a chat, which are not to be changed.
func (t *table) of(chat string) chatAnswers {
	if c := t.chats[chat]; c != nil {
		return *c
	}
	return chatAnswers{}
}

func (t *table) get(chat, id string) answer { return t.of(chat).byID[id] }

func (t *table) set(chat, id string, a answer) {
	c := t.chats[chat]
	if c == nil {
		c = &chatAnswers{byID: make(map[string]answer)}
		t.chats[chat] = c
	}
	if c.byID[id] = a; a != (answer{}) {
		return
	}
	if delete(c.byID, id); len(c.byID) == 0 {
		delete(t.chats, chat)
	}
}

// chatOf finds the one chat that has used an ID.
func (t *table) chatOf(id string) (string, error) {
	var found []string
	for chat, c := range t.chats {
		if a := c.byID[id]; a.record != nil || a.past != nil && !a.past.spent {
			found = append(found, chat)
		}
	}
	switch len(found) {
	case 0:
		return "", procmgr.ErrNotFound
	case 1:
		return found[0], nil
	}
	return "", xerrors.Errorf("%d chats have a process with this ID, ask in the chat: %w", len(found), procmgr.ErrConflict)
}

// begun adds the record of a new process, whose ID is unused.
func (t *table) begun(r *record) {
	t.set(r.chat, r.id, answer{record: r})
	c := t.chats[r.chat]
	c.all, t.all = append(c.all, r), append(t.all, r)
	t.count(r, 1)
}

// exited takes a record out of the counts of processes that have not exited.
func (t *table) exited(r *record) { t.count(r, -1) }

func (t *table) count(r *record, delta int) {
	t.running += delta
	t.chats[r.chat].running += delta
}

// remove takes a record out, and leaves a tombstone, or nothing for nil.
func (t *table) remove(r *record, past *tombstone) {
	t.all.remove(r)
	t.chats[r.chat].all.remove(r)
	if past == nil {
		t.set(r.chat, r.id, answer{})
	} else {
		t.bury(r.chat, past)
	}
}

// bury adds a tombstone.
func (t *table) bury(chat string, past *tombstone) {
	t.set(chat, past.id, answer{past: past})
	t.ended.add(chat, past)
}

// output returns an Output which says that all text is gone.
func (t *tombstone) output(req procmgr.OutputRequest) procmgr.Output {
	out := t.left
	out.Process = clone(out.Process)
	out.Withheld = slices.Clone(out.Withheld)
	gone := out.Next - min(max(req.From, 0), out.Next)
	if gone == 0 {
		return out
	}
	out.Truncated = &headtail.Truncation{OriginalBytes: gone, OmittedBytes: gone, Strategy: "head_tail"}
	switch req.Until {
	case "":
	case ".":
		out.Matched = true
	default:
		out.Unsearched = gone
	}
	return out
}

// maxTombstones is how many IDs are remembered after their records have gone.
const maxTombstones = 16384

// maxEpitaph is how many bytes of a command a tombstone and an event keep.
const maxEpitaph = 256

// cutShort returns what is kept of a command.
func cutShort(command string) string {
	if len(command) <= maxEpitaph {
		return command
	}
	return strings.ToValidUTF8(command[:maxEpitaph], "") + "…"
}

// clone returns a copy that shares no memory with p.
func clone(p procmgr.Process) procmgr.Process {
	if p.ExitCode != nil {
		p.ExitCode = new(*p.ExitCode)
	}
	if p.Waiting != nil {
		p.Waiting = new(*p.Waiting)
	}
	return p
}

// used looks up the ID that a Start asks for. If an earlier Start has used the ID
// for the same request, used returns the answer to that. If the ID is unused or empty,
// it returns none. The error is
// ErrClosed if the Local is closed. It is ErrConflict if the ID was used for
// another request, or if a Terminate or a Kill came before the Start and has
// spent the ID; ErrUnknown if such a Start is older than the Local. The caller holds mu.
func (l *Local) used(chat, id string, key idempotency.Fingerprint, age time.Duration) (answer, error) {
	if l.closed {
		return answer{}, procmgr.ErrClosed
	}
	if id == "" {
		return answer{}, nil
	}
	a := l.table.get(chat, id)
	switch {
	case a.past != nil && a.past.spent:
		if err := check.Age(age, l.table.made); err != nil {
			return answer{}, err
		}
		return answer{}, xerrors.Errorf("it was stopped before it began, so nothing was run; take another ID to run it after all: %w", procmgr.ErrConflict)
	case a.record != nil && a.record.key != key, a.past != nil && a.past.key != key:
		return answer{}, xerrors.Errorf("this ID ran another command, directory, environment or stdin; take another ID: %w", procmgr.ErrConflict)
	}
	return a, nil
}

// reserve makes the record of a process that the caller will launch. If id is
// empty, the record gets a new ID. If there is no room for the process, reserve
// returns an error. The caller holds mu.
func (l *Local) reserve(chat, id string, key idempotency.Fingerprint, terminal bool) (*record, error) {
	if err := l.room(chat); err != nil {
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
		answers:  idempotency.Memo[input.Receipt]{Max: maxAnswers},
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

// room returns nil if the chat can start another process. If not, the error says
// which limit is reached. If chat is "", the host itself starts the process, and
// no limit of a chat applies. The caller holds mu.
func (l *Local) room(chat string) error {
	own := l.table.of(chat)
	switch {
	case chat != "" && l.opts.PerChat == nil && own.running >= l.opts.MaxRunningPerChat:
		return check.Full(chat, running(own.all), l.opts.MaxRunningPerChat)
	case l.table.running >= l.opts.MaxRunning:
		return check.Full(chat, running(own.all), 0)
	}
	return nil
}

// chatRoom is room for the limit of a chat that Options.PerChat has set. It counts what
// was reserved before r, so if several start at once, the first ones go on.
func (l *Local) chatRoom(r *record, limit int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.table.of(r.chat)
	if r.chat == "" || own.running <= limit { // r is one of them
		return nil
	}
	before := running(slices.DeleteFunc(slices.Clone(own.all), func(other *record) bool { return other.seq >= r.seq }))
	if len(before) < limit {
		return nil
	}
	return check.Full(r.chat, before, limit)
}

// running returns the IDs of the records that have not exited, in their order.
func running(all []*record) (ids []string) {
	for _, r := range all {
		if !r.exited() {
			ids = append(ids, r.id)
		}
	}
	return ids
}

// expire drops the records that have been kept long enough, or whose memory or
// place others need, and leaves a tombstone for each. The caller holds mu.
func (l *Local) expire() {
	for len(l.exits) > 0 {
		r := l.exits[0]
		left := l.retain - time.Since(r.shown.Load().ExitedAt)
		if left > 0 && l.memory.Load() <= l.maxMemory.Load() && len(l.exits) <= maxTombstones {
			if !l.closed {
				l.expiry.Reset(left)
			}
			return
		}
		l.exits[0] = nil // or the array keeps it
		l.exits = l.exits[1:]
		l.table.remove(r, buried(r))
		r.out.Drop()
		r.out.RetireLog()
	}
}

// buried returns the tombstone of a record that has exited.
func buried(r *record) *tombstone {
	p := r.snapshot()
	p.Command = cutShort(p.Command)
	p.LogPath = "" // the log goes with the record
	return &tombstone{id: r.id, key: r.key, used: p.StartedAt, left: procmgr.Output{Process: p, Withheld: r.withheld, Next: r.out.Total()}}
}

// makeRoom is called when the kept output has grown.
func (l *Local) makeRoom() {
	if l.memory.Load() > l.maxMemory.Load() {
		l.retire()
	}
}

// change sets the limits that can change.
func (l *Local) change(limits baseenv.Limits) {
	retain, memory := bound(limits.Retain, defaultRetain, math.MaxInt64), bound(limits.OutputMemory, defaultOutputMemory, math.MaxInt64)
	l.mu.Lock()
	same := l.retain == retain && l.maxMemory.Load() == memory
	l.retain = retain
	l.maxMemory.Store(memory)
	l.mu.Unlock()
	if !same {
		l.retire()
	}
}

// retire is expire for a caller that does not hold mu.
func (l *Local) retire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expire()
}

// freeLog drops the oldest log of a process that has exited. It reports whether
// there was one.
func (l *Local) freeLog() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.exits, func(r *record) bool { return r.out.RetireLog() })
}

// A fair keeps a bounded number of items, each belonging to a chat. If there are too
// many, the chat with the most items loses its oldest one. So no chat can push out the
// items of another chat.
type fair[T any] struct {
	most       int // of all chats
	mostOfChat int
	count      int
	newest     uint64               // the number of the newest item; the first one has 1
	byChat     map[string][]kept[T] // the oldest first
	dropped    func(chat string, it kept[T])
}

// A kept is an item with its number, by which all items are in order.
type kept[T any] struct {
	number uint64
	item   T
}

// newFair returns one that calls dropped for each item that is pushed out.
func newFair[T any](most, mostOfChat int, dropped func(chat string, it kept[T])) *fair[T] {
	return &fair[T]{most: most, mostOfChat: mostOfChat, byChat: make(map[string][]kept[T]), dropped: dropped}
}

// add adds an item.
func (f *fair[T]) add(chat string, item T) (it kept[T]) {
	f.newest++
	it = kept[T]{f.newest, item}
	f.byChat[chat] = append(f.byChat[chat], it)
	if f.count++; f.count > f.most {
		largest := chat
		for other, items := range f.byChat {
			n := len(items) - len(f.byChat[largest])
			if n > 0 || n == 0 && items[0].number < f.byChat[largest][0].number {
				largest = other
			}
		}
		f.dropOldest(largest)
	}
	if len(f.byChat[chat]) > f.mostOfChat {
		f.dropOldest(chat)
	}
	return it
}

func (f *fair[T]) dropOldest(chat string) {
	items := f.byChat[chat]
	it := items[0]
	items[0] = kept[T]{} // or the array keeps it
	f.byChat[chat] = items[1:]
	if f.count--; len(items) == 1 {
		delete(f.byChat, chat)
	}
	f.dropped(chat, it)
}
