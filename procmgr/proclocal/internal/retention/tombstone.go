package retention

import (
	"slices"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/carry"
)

// MaxTombstones is how many IDs are remembered after their records have gone.
const MaxTombstones = 16384

// A Tombstone is the rest of a process whose record has been dropped, or of an
// ID that a stop has spent.
type Tombstone struct {
	Seq     uint64          `json:"seq"`
	ID      string          `json:"id"`
	Key     Fingerprint     `json:"print,omitzero"`
	Spent   bool            `json:"spent,omitempty"`   // never started, and never to be started
	Unknown bool            `json:"unknown,omitempty"` // nobody knows what has become of it
	Process procmgr.Process `json:"process,omitzero"`  // its command is cut short
	Total   int64           `json:"total,omitempty"`   // bytes of all the output
	Lost    int64           `json:"lost,omitempty"`    // as capture.State.Lost
	// Withheld and PassedOver are the fields of an Output with these names.
	Withheld   []string `json:"withheld,omitempty"`
	PassedOver string   `json:"passed_over,omitempty"`
}

// A SavedTombstone is a Tombstone for another program.
type SavedTombstone struct {
	Chat string `json:"chat,omitempty"`
	Tombstone
}

// Output returns an Output which says that all text is gone.
func (t *Tombstone) Output(from int64) procmgr.Output {
	out := procmgr.Output{
		Process:     Clone(t.Process),
		StartResult: procmgr.StartResult{Withheld: slices.Clone(t.Withheld), PassedOver: t.PassedOver},
		Next:        t.Total,
	}
	from = min(max(from, 0), t.Total)
	if gone, unknown := t.Total-from, from < t.Lost; gone > 0 || unknown {
		out.Truncated = &headtail.Truncation{OriginalBytes: gone, OmittedBytes: gone, Strategy: "head_tail", Unknown: unknown}
	}
	return out
}

// OutputUntil is Output for a request that may have a pattern. No output is left
// to search.
func (t *Tombstone) OutputUntil(req procmgr.OutputRequest) procmgr.Output {
	out := t.Output(req.From)
	if gone := out.Truncated; gone != nil && gone.OmittedBytes > 0 && req.Until == "." {
		out.Matched = true
	} else if gone != nil && req.Until != "" {
		out.Unsearched = gone.OmittedBytes
	}
	return out
}

// Tombstones remember a bounded number of IDs, shared fairly among the chats.
type Tombstones struct {
	all  *fair[*Tombstone]
	byID map[string]map[string]*Tombstone // of each chat
	keep carry.Keep                       // nil for none
}

// NewTombstones returns Tombstones that have none. keep is told of an ID that is
// forgotten; nil for none.
func NewTombstones(keep carry.Keep) *Tombstones {
	ts := &Tombstones{byID: make(map[string]map[string]*Tombstone), keep: keep}
	ts.all = newFair(MaxTombstones, ts.drop)
	return ts
}

// drop forgets an ID for good.
func (ts *Tombstones) drop(chat string, t *Tombstone) {
	ts.forget(chat, t)
	if ts.keep != nil {
		ts.keep.Forgotten(carry.Key{Seq: t.Seq, Chat: chat, ID: t.ID})
	}
}

// Get returns the tombstone of an ID, or nil.
func (ts *Tombstones) Get(chat, id string) *Tombstone { return ts.byID[chat][id] }

// ChatsOf returns the chats that have used an ID.
func (ts *Tombstones) ChatsOf(id string) (chats []string) {
	for chat, byID := range ts.byID {
		if t := byID[id]; t != nil && !t.Spent {
			chats = append(chats, chat)
		}
	}
	return chats
}

// Add adds a tombstone of a chat.
func (ts *Tombstones) Add(chat string, t *Tombstone) {
	if ts.byID[chat] == nil {
		ts.byID[chat] = make(map[string]*Tombstone)
	}
	ts.byID[chat][t.ID] = t
	ts.all.add(chat, t)
}

// Remove forgets an ID whose record has come back.
func (ts *Tombstones) Remove(chat, id string) {
	if t := ts.Get(chat, id); t != nil {
		ts.all.remove(chat, t)
		ts.forget(chat, t)
	}
}

func (ts *Tombstones) forget(chat string, t *Tombstone) {
	delete(ts.byID[chat], t.ID)
	if len(ts.byID[chat]) == 0 {
		delete(ts.byID, chat)
	}
}

// Save returns the tombstones, the oldest first.
func (ts *Tombstones) Save() (all []SavedTombstone) {
	for chat, t := range ts.all.inOrder() {
		all = append(all, SavedTombstone{chat, *t})
	}
	return all
}
