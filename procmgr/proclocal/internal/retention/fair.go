package retention

import (
	"container/heap"
	"slices"
)

// A Fair keeps a bounded number of items, each of which belongs to a chat. If
// there are too many, the chat with the most items loses its oldest one. So no
// chat can push out the items of another chat.
type Fair[T comparable] struct {
	most    int // of all chats
	count   int
	added   uint64
	byChat  map[string]*plot[T]
	plots   plots[T]
	dropped func(chat string, item T) // called for each item that is pushed out
}

// A plot has the items of one chat.
type plot[T comparable] struct {
	chat  string
	items []T      // the oldest first
	ages  []uint64 // of each item: how many had been added before it
	index int      // in plots
}

// NewFair returns a Fair for so many items. dropped is called for each item that is
// pushed out.
func NewFair[T comparable](most int, dropped func(chat string, item T)) *Fair[T] {
	return &Fair[T]{most: most, byChat: make(map[string]*plot[T]), dropped: dropped}
}

// of returns the items of a chat, the oldest first. They may not be changed.
func (f *Fair[T]) of(chat string) []T {
	if p := f.byChat[chat]; p != nil {
		return p.items
	}
	return nil
}

// Add adds an item, which is the newest one of its chat.
func (f *Fair[T]) Add(chat string, item T) {
	p := f.byChat[chat]
	if p == nil {
		p = &plot[T]{chat: chat}
		f.byChat[chat] = p
		heap.Push(&f.plots, p)
	}
	p.items = append(p.items, item)
	p.ages = append(p.ages, f.added)
	f.added++
	heap.Fix(&f.plots, p.index)
	if f.count++; f.count > f.most {
		f.dropOldest(f.plots[0])
	}
}

// trim drops the oldest items of a chat beyond a number.
func (f *Fair[T]) trim(chat string, most int) {
	if p := f.byChat[chat]; p != nil && len(p.items) > most {
		f.dropOldest(p)
	}
}

// Remove takes an item out of its chat.
func (f *Fair[T]) Remove(chat string, item T) {
	p := f.byChat[chat]
	if p == nil {
		return
	}
	if i := slices.Index(p.items, item); i >= 0 {
		p.items = slices.Delete(p.items, i, i+1)
		p.ages = slices.Delete(p.ages, i, i+1)
		f.shrunk(p)
	}
}

func (f *Fair[T]) dropOldest(p *plot[T]) {
	var none T
	item := p.items[0]
	p.items[0] = none // or the array keeps it
	p.items, p.ages = p.items[1:], p.ages[1:]
	f.shrunk(p)
	f.dropped(p.chat, item)
}

// shrunk puts a plot in its place after it has lost an item.
func (f *Fair[T]) shrunk(p *plot[T]) {
	f.count--
	if len(p.items) == 0 {
		heap.Remove(&f.plots, p.index)
		delete(f.byChat, p.chat)
		return
	}
	heap.Fix(&f.plots, p.index)
}

// plots is a heap. The chat with the most items comes first. Among equals, the
// chat with the oldest item comes first.
type plots[T comparable] []*plot[T]

func (ps plots[T]) Len() int { return len(ps) }

func (ps plots[T]) Less(i, j int) bool {
	a, b := ps[i].ages, ps[j].ages
	if len(a) != len(b) {
		return len(a) > len(b)
	}
	return len(a) > 0 && a[0] < b[0]
}

func (ps plots[T]) Swap(i, j int) {
	ps[i], ps[j] = ps[j], ps[i]
	ps[i].index, ps[j].index = i, j
}

func (ps *plots[T]) Push(x any) {
	p := x.(*plot[T])
	p.index = len(*ps)
	*ps = append(*ps, p)
}

func (ps *plots[T]) Pop() any {
	old := *ps
	p := old[len(old)-1]
	old[len(old)-1] = nil
	*ps = old[:len(old)-1]
	return p
}
