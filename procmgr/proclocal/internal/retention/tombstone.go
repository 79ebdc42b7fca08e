package retention

import (
	"slices"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

// MaxTombstones is how many IDs are remembered after their records have gone.
const MaxTombstones = 16384

// A Tombstone is the rest of a process whose record has been dropped, or of an
// ID that a stop has spent.
type Tombstone struct {
	Seq     uint64
	ID      string
	Key     Fingerprint
	Spent   bool            // never started, and never to be started
	Process procmgr.Process // its command is cut short
	Total   int64           // bytes of all the output
	// Withheld and PassedOver are the fields of an Output with these names.
	Withheld   []string
	PassedOver string
}

// Output returns an Output which says that all text is gone.
func (t *Tombstone) Output(from int64) procmgr.Output {
	out := procmgr.Output{
		Process:     Clone(t.Process),
		StartResult: procmgr.StartResult{Withheld: slices.Clone(t.Withheld), PassedOver: t.PassedOver},
		Next:        t.Total,
	}
	from = min(max(from, 0), t.Total)
	if gone := t.Total - from; gone > 0 {
		out.Truncated = &headtail.Truncation{OriginalBytes: gone, OmittedBytes: gone, Strategy: "head_tail"}
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
}

// NewTombstones returns Tombstones that have none.
func NewTombstones() *Tombstones {
	ts := &Tombstones{byID: make(map[string]map[string]*Tombstone)}
	ts.all = newFair(MaxTombstones, ts.forget)
	return ts
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
