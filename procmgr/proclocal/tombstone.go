package proclocal

import (
	"slices"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/carry"
)

// maxTombstones is how many IDs are remembered after their records have gone.
const maxTombstones = 16384

// A tombstone is the rest of a process whose record has been dropped, or of an
// ID that a stop has spent.
type tombstone struct {
	seq     uint64
	id      string
	key     fingerprint
	spent   bool            // never started, and never to be started
	unknown bool            // nobody knows what has become of it
	process procmgr.Process // its command is cut short
	total   int64           // bytes of all the output
	lost    int64           // as capture.State.Lost
	// withheld and passedOver are the fields of an Output with these names.
	withheld   []string
	passedOver string
}

// output returns an Output which says that all text is gone.
func (t *tombstone) output(from int64) procmgr.Output {
	out := procmgr.Output{
		Process:     clone(t.process),
		StartResult: procmgr.StartResult{Withheld: slices.Clone(t.withheld), PassedOver: t.passedOver},
		Next:        t.total,
	}
	from = min(max(from, 0), t.total)
	if gone, unknown := t.total-from, from < t.lost; gone > 0 || unknown {
		out.Truncated = &headtail.Truncation{OriginalBytes: gone, OmittedBytes: gone, Strategy: "head_tail", Unknown: unknown}
	}
	return out
}

// outputUntil is output for a request that may have a pattern. No output is left
// to search.
func (t *tombstone) outputUntil(req procmgr.OutputRequest) procmgr.Output {
	out := t.output(req.From)
	if gone := out.Truncated; gone != nil && gone.OmittedBytes > 0 && req.Until == "." {
		out.Matched = true
	} else if gone != nil && req.Until != "" {
		out.Unsearched = gone.OmittedBytes
	}
	return out
}

// tombstones remember a bounded number of IDs, shared fairly among the chats.
type tombstones struct {
	all  *fair[*tombstone]
	byID map[string]map[string]*tombstone // of each chat
	keep carry.Keep                       // nil for none
}

func newTombstones(most int, keep carry.Keep) *tombstones {
	ts := &tombstones{byID: make(map[string]map[string]*tombstone), keep: keep}
	ts.all = newFair(most, ts.drop)
	return ts
}

// drop forgets an ID for good.
func (ts *tombstones) drop(chat string, t *tombstone) {
	ts.forget(chat, t)
	if ts.keep != nil {
		ts.keep.Forgotten(carry.Key{Seq: t.seq, Chat: chat, ID: t.id})
	}
}

func (ts *tombstones) get(chat, id string) *tombstone { return ts.byID[chat][id] }

func (ts *tombstones) chatsOf(id string) (chats []string) {
	for chat, byID := range ts.byID {
		if t := byID[id]; t != nil && !t.spent {
			chats = append(chats, chat)
		}
	}
	return chats
}

func (ts *tombstones) add(chat string, t *tombstone) {
	if ts.byID[chat] == nil {
		ts.byID[chat] = make(map[string]*tombstone)
	}
	ts.byID[chat][t.id] = t
	ts.all.add(chat, t)
}

// remove forgets an ID whose record has come back.
func (ts *tombstones) remove(chat, id string) {
	if t := ts.get(chat, id); t != nil {
		ts.all.remove(chat, t)
		ts.forget(chat, t)
	}
}

func (ts *tombstones) forget(chat string, t *tombstone) {
	delete(ts.byID[chat], t.id)
	if len(ts.byID[chat]) == 0 {
		delete(ts.byID, chat)
	}
}
