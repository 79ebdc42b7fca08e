package procmgr

import (
	"container/heap"
	"slices"

	"github.com/toolproc/toolproc/headtail"
)

// maxTombstones is how many IDs are remembered after their records have gone.
const maxTombstones = 16384

// A tombstone is the rest of a process whose record has been dropped, or of an
// ID that a stop has spent.
type tombstone struct {
	id      string
	key     fingerprint
	spent   bool    // never started, and never to be started
	born    uint64  // the order of burials
	process Process // its command is cut short
	total   int64   // bytes of all the output
	// withheld and passedOver are the fields of an Output with these names.
	withheld   []string
	passedOver string
}

// output returns an Output which says that all text is gone.
func (t *tombstone) output(from int64) Output {
	out := Output{Process: t.process.clone(), Withheld: slices.Clone(t.withheld), PassedOver: t.passedOver, Next: t.total}
	if gone := t.total - min(max(from, 0), t.total); gone > 0 {
		out.Truncated = &headtail.Truncation{OriginalBytes: gone, OmittedBytes: gone, Strategy: "head_tail"}
	}
	return out
}

// outputUntil is output for a request that may have a pattern. No output is left
// to search.
func (t *tombstone) outputUntil(req OutputRequest) Output {
	out := t.output(req.From)
	if gone := out.Truncated; gone != nil && req.Until == "." {
		out.Matched = true
	} else if gone != nil && req.Until != "" {
		out.Unsearched = gone.OmittedBytes
	}
	return out
}

// tombstones remember a bounded number of IDs. If there are too many, the chat
// with the most tombstones loses its oldest one. So no chat can push out the
// IDs of another chat.
type tombstones struct {
	most   int
	count  int
	born   uint64
	byChat map[string]*plot
	plots  plots
}

// A plot has the tombstones of one chat.
type plot struct {
	chat  string
	byID  map[string]*tombstone
	order []*tombstone // the oldest first
	index int          // in plots
}

func newTombstones(most int) *tombstones {
	return &tombstones{most: most, byChat: make(map[string]*plot)}
}

func (ts *tombstones) get(chat, id string) *tombstone {
	if p := ts.byChat[chat]; p != nil {
		return p.byID[id]
	}
	return nil
}

func (ts *tombstones) chatsOf(id string) (chats []string) {
	for chat, p := range ts.byChat {
		if t := p.byID[id]; t != nil && !t.spent {
			chats = append(chats, chat)
		}
	}
	return chats
}

func (ts *tombstones) add(chat string, t *tombstone) {
	ts.born++
	t.born = ts.born
	p := ts.byChat[chat]
	if p == nil {
		p = &plot{chat: chat, byID: make(map[string]*tombstone), order: []*tombstone{t}}
		ts.byChat[chat] = p
		heap.Push(&ts.plots, p)
	} else {
		p.order = append(p.order, t)
		heap.Fix(&ts.plots, p.index)
	}
	p.byID[t.id] = t
	if ts.count++; ts.count > ts.most {
		ts.dropOldest(ts.plots[0])
	}
}

// remove forgets an ID whose record has come back.
func (ts *tombstones) remove(chat, id string) {
	p := ts.byChat[chat]
	if p == nil || p.byID[id] == nil {
		return
	}
	i := slices.Index(p.order, p.byID[id])
	p.order = slices.Delete(p.order, i, i+1)
	delete(p.byID, id)
	ts.shrunk(p)
}

func (ts *tombstones) dropOldest(p *plot) {
	delete(p.byID, p.order[0].id)
	p.order[0] = nil // or the array keeps it
	p.order = p.order[1:]
	ts.shrunk(p)
}

// shrunk puts a plot in its place after it has lost a tombstone.
func (ts *tombstones) shrunk(p *plot) {
	ts.count--
	if len(p.order) == 0 {
		heap.Remove(&ts.plots, p.index)
		delete(ts.byChat, p.chat)
		return
	}
	heap.Fix(&ts.plots, p.index)
}

// plots is a heap. The chat with the most tombstones comes first. Among equals,
// the chat with the oldest tombstone comes first.
type plots []*plot

func (ps plots) Len() int { return len(ps) }

func (ps plots) Less(i, j int) bool {
	a, b := ps[i].order, ps[j].order
	if len(a) != len(b) {
		return len(a) > len(b)
	}
	return len(a) > 0 && a[0].born < b[0].born
}

func (ps plots) Swap(i, j int) {
	ps[i], ps[j] = ps[j], ps[i]
	ps[i].index, ps[j].index = i, j
}

func (ps *plots) Push(x any) {
	p := x.(*plot)
	p.index = len(*ps)
	*ps = append(*ps, p)
}

func (ps *plots) Pop() any {
	old := *ps
	p := old[len(old)-1]
	old[len(old)-1] = nil
	*ps = old[:len(old)-1]
	return p
}
