package proclocal

import (
	"maps"
	"slices"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/idempotency"
	"github.com/toolproc/toolproc/procmgr/proclocal/internal/retention"
)

// A table has the answer to each start, by the ID and the chat: a record while the
// Local knows everything about the process, then a tombstone for a while. The Local's
// mu guards it.
type table struct {
	answers map[string]map[string]answer // by ID, then by chat
	chats   map[string]*chatRecords
	running int // records that have not exited
	ended   *retention.Fair[*tombstone]
}

// An answer has a record or a tombstone, or neither if the ID is unused.
type answer struct {
	record *record
	past   *tombstone
}

// chatRecords are the records of one chat.
type chatRecords struct {
	all       map[*record]bool
	running   int
	terminals int // of those that run
}

// A tombstone is the rest of a process whose record has been dropped, or of an ID that
// a stop has spent before its start.
type tombstone struct {
	id    string
	key   idempotency.Fingerprint
	spent bool           // never started, and never to be started
	left  procmgr.Output // as of a request from the beginning on
}

func newTable() table {
	t := table{answers: make(map[string]map[string]answer), chats: make(map[string]*chatRecords)}
	t.ended = retention.NewFair(retention.MaxTombstones, func(chat string, past *tombstone) { t.set(chat, past.id, answer{}) })
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

// records returns the records of all chats.
func (t *table) records() (all []*record) {
	for _, c := range t.chats {
		all = slices.AppendSeq(all, maps.Keys(c.all))
	}
	return all
}

// begun adds a record that has not exited, or one that has come back after its exit.
func (t *table) begun(r *record) {
	c := t.chats[r.chat]
	if c == nil {
		c = &chatRecords{all: make(map[*record]bool)}
		t.chats[r.chat] = c
	}
	if past := t.get(r.chat, r.id).past; past != nil {
		t.ended.Remove(r.chat, past)
	}
	t.set(r.chat, r.id, answer{record: r})
	c.all[r] = true
	c.count(r, 1)
	t.running++
}

func (c *chatRecords) count(r *record, delta int) {
	c.running += delta
	if r.terminal {
		c.terminals += delta
	}
}

// exited takes a record out of the count of those that have not exited.
func (t *table) exited(r *record) {
	t.chats[r.chat].count(r, -1)
	t.running--
}

// remove takes a record out, and leaves a tombstone, or nothing for nil.
func (t *table) remove(r *record, past *tombstone) {
	c := t.chats[r.chat]
	if delete(c.all, r); len(c.all) == 0 {
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
	t.ended.Add(chat, past)
}

// output returns an Output which says that all text is gone.
func (t *tombstone) output(req procmgr.OutputRequest) procmgr.Output {
	out := t.left
	out.Process = retention.Clone(out.Process)
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
