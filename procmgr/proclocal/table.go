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

// A table has the answer to each start, by the ID and the chat: a record while the
// Local knows everything about the process, then a tombstone for a while. The Local's
// mu guards it.
type table struct {
	answers map[string]map[string]answer // by ID, then by chat
	chats   map[string]*chatRecords
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

// chatRecords are the records of one chat.
type chatRecords struct {
	all       records
	running   int
	terminals int // how many of the running ones have a terminal
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
	t := &table{answers: make(map[string]map[string]answer), chats: make(map[string]*chatRecords), made: now, whole: now}
	t.ended = newFair(maxTombstones, func(chat string, past *tombstone) {
		t.set(chat, past.id, answer{})
		if past.used.After(t.whole) {
			t.whole = past.used
		}
	})
	return t
}

func (t *table) get(chat, id string) answer { return t.answers[id][chat] }

func (t *table) set(chat, id string, a answer) {
	switch byChat := t.answers[id]; {
	case a != answer{} && byChat == nil:
		t.answers[id] = map[string]answer{chat: a}
	case a != answer{}:
		byChat[chat] = a
	default:
		if delete(byChat, chat); len(byChat) == 0 {
			delete(t.answers, id)
		}
	}
}

// chatOf finds the one chat that has used an ID.
func (t *table) chatOf(id string) (string, error) {
	var found []string
	for chat, a := range t.answers[id] {
		if a.past == nil || !a.past.spent {
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

// of returns the counts of a chat, which are not to be changed.
func (t *table) of(chat string) chatRecords {
	if c := t.chats[chat]; c != nil {
		return *c
	}
	return chatRecords{}
}

// begun adds the record of a new process.
func (t *table) begun(r *record) {
	c := t.chats[r.chat]
	if c == nil {
		c = new(chatRecords)
		t.chats[r.chat] = c
	}
	if past := t.get(r.chat, r.id).past; past != nil {
		t.ended.remove(r.chat, past)
	}
	t.set(r.chat, r.id, answer{record: r})
	c.all, t.all = append(c.all, r), append(t.all, r)
	c.count(r, 1)
	t.running++
}

func (c *chatRecords) count(r *record, delta int) {
	c.running += delta
	if r.terminal {
		c.terminals += delta
	}
}

// exited takes a record out of the counts of processes that have not exited.
func (t *table) exited(r *record) {
	t.chats[r.chat].count(r, -1)
	t.running--
}

// remove takes a record out, and leaves a tombstone, or nothing for nil.
func (t *table) remove(r *record, past *tombstone) {
	c := t.chats[r.chat]
	t.all.remove(r)
	if c.all.remove(r); len(c.all) == 0 {
		delete(t.chats, r.chat)
	}
	t.set(r.chat, r.id, answer{})
	if past != nil {
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
	for e := l.exits.Front(); e != nil; e = l.exits.Front() {
		r := e.Value.(*record)
		// ExitedAt no longer changes.
		left := l.retain - time.Since(r.process.ExitedAt)
		if left > 0 && l.memory.Load() <= l.maxMemory.Load() && l.exits.Len() <= maxTombstones {
			l.expireIn(r, left)
			return
		}
		l.exits.Remove(e)
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
	return &tombstone{id: r.id, key: r.key, used: p.StartedAt, left: procmgr.Output{Process: p, Withheld: r.withheld, PassedOver: r.passedOver, Next: r.out.Total()}}
}

// expireIn makes the oldest record expire after a while. The caller holds mu.
func (l *Local) expireIn(oldest *record, d time.Duration) {
	if l.closed || l.expiring == oldest {
		return // a timer that changed at every exit would be costly
	}
	l.expiring = oldest
	if l.expiry != nil {
		l.expiry.Reset(d)
		return
	}
	l.expiry = time.AfterFunc(d, l.retire)
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
	l.expiring = nil
	l.expire()
}

// freeLog drops the oldest log of a process that has exited. It reports whether
// there was one.
func (l *Local) freeLog() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for e := l.exits.Front(); e != nil; e = e.Next() {
		if e.Value.(*record).out.RetireLog() {
			return true
		}
	}
	return false
}

// A fair keeps a bounded number of items, each belonging to a chat. If there are too
// many, the chat with the most items loses its oldest one. So no chat can push out the
// items of another chat.
type fair[T comparable] struct {
	most    int // of all chats
	count   int
	added   uint64
	byChat  map[string]*plot[T]
	dropped func(chat string, item T) // called for each item that is pushed out
}

// A plot has the items of one chat.
type plot[T comparable] struct {
	items []T      // the oldest first
	ages  []uint64 // of each item: how many had been added before it
}

func newFair[T comparable](most int, dropped func(chat string, item T)) *fair[T] {
	return &fair[T]{most: most, byChat: make(map[string]*plot[T]), dropped: dropped}
}

// of returns the items of a chat, the oldest first. They may not be changed.
func (f *fair[T]) of(chat string) []T {
	if p := f.byChat[chat]; p != nil {
		return p.items
	}
	return nil
}

// add adds an item, which is the newest one of its chat.
func (f *fair[T]) add(chat string, item T) {
	p := f.byChat[chat]
	if p == nil {
		p = new(plot[T])
		f.byChat[chat] = p
	}
	p.items, p.ages = append(p.items, item), append(p.ages, f.added)
	f.added++
	if f.count++; f.count <= f.most {
		return
	}
	for other, q := range f.byChat {
		if n := len(q.items) - len(p.items); n > 0 || n == 0 && q.ages[0] < p.ages[0] {
			chat, p = other, q
		}
	}
	f.dropOldest(chat)
}

// trim drops the oldest items of a chat beyond a number.
func (f *fair[T]) trim(chat string, most int) {
	if len(f.of(chat)) > most {
		f.dropOldest(chat)
	}
}

// remove takes an item out of its chat.
func (f *fair[T]) remove(chat string, item T) {
	if i := slices.Index(f.of(chat), item); i >= 0 {
		p := f.byChat[chat]
		p.items, p.ages = slices.Delete(p.items, i, i+1), slices.Delete(p.ages, i, i+1)
		f.shrunk(chat)
	}
}

func (f *fair[T]) dropOldest(chat string) {
	var none T
	p := f.byChat[chat]
	item := p.items[0]
	p.items[0] = none // or the array keeps it
	p.items, p.ages = p.items[1:], p.ages[1:]
	f.shrunk(chat)
	f.dropped(chat, item)
}

// shrunk counts an item that a chat has lost.
func (f *fair[T]) shrunk(chat string) {
	f.count--
	if len(f.of(chat)) == 0 {
		delete(f.byChat, chat)
	}
}
