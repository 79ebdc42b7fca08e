package proclocal

import (
	"sync"
	"sync/atomic"
)

// records has the records of all chats. The Local's mu guards it, except for
// the lists, which can be read without a lock.
type records struct {
	byChat  map[string]*chatRecords
	running int        // the number of records that have not exited
	all     recordList // of every chat
	lists   sync.Map   // from the ID of a chat to its *recordList
}

// chatRecords has the records of one chat, by ID.
type chatRecords struct {
	byID      map[string]*record
	running   int
	terminals int // of those that run
	list      recordList
}

// get returns a record, or nil if there is none.
func (rs *records) get(chat, id string) *record {
	if c := rs.byChat[chat]; c != nil {
		return c.byID[id]
	}
	return nil
}

// begun adds a record to its chat, if it is not there, as one that has not
// exited.
func (rs *records) begun(r *record) {
	c := rs.byChat[r.chat]
	if c == nil {
		c = &chatRecords{byID: make(map[string]*record)}
		rs.byChat[r.chat] = c
		rs.lists.Store(r.chat, &c.list)
	}
	if c.byID[r.id] == nil {
		c.byID[r.id] = r
		r.listed = new(atomic.Pointer[record])
		r.listed.Store(r)
		c.list.add(r.listed)
		rs.all.add(r.listed)
	}
	c.running++
	if r.terminal {
		c.terminals++
	}
	rs.running++
}

// ended takes a record out of the count of those that have not exited.
func (rs *records) ended(r *record) {
	c := rs.byChat[r.chat]
	c.running--
	if r.terminal {
		c.terminals--
	}
	rs.running--
}

// remove takes a record out of its chat.
func (rs *records) remove(r *record) {
	c := rs.byChat[r.chat]
	delete(c.byID, r.id)
	r.listed.Store(nil)
	c.list.removed()
	rs.all.removed()
	if len(c.byID) == 0 {
		delete(rs.byChat, r.chat)
		rs.lists.Delete(r.chat)
	}
}

// chatsOf returns the chats that have an ID.
func (rs *records) chatsOf(id string) (chats []string) {
	for chat, c := range rs.byChat {
		if c.byID[id] != nil {
			chats = append(chats, chat)
		}
	}
	return chats
}

// runningIn returns the number of a chat's records that have not exited.
func (rs *records) runningIn(chat string) int {
	if c := rs.byChat[chat]; c != nil {
		return c.running
	}
	return 0
}

// terminalsIn returns the number of a chat's terminals.
func (rs *records) terminalsIn(chat string) int {
	if c := rs.byChat[chat]; c != nil {
		return c.terminals
	}
	return 0
}

// of returns the records of one chat, in the order in which they were added. It
// takes no lock.
func (rs *records) of(chat string) []*record {
	list, ok := rs.lists.Load(chat)
	if !ok {
		return nil
	}
	return list.(*recordList).records()
}

// A recordList has records in the order in which they were added. It is read
// without a lock: what was added is never changed, except that a place becomes
// nil when its record is removed. One goroutine at a time adds and removes.
type recordList struct {
	places atomic.Pointer[[]*atomic.Pointer[record]]
	gone   int // places without a record
}

func (l *recordList) add(place *atomic.Pointer[record]) {
	var places []*atomic.Pointer[record]
	if p := l.places.Load(); p != nil {
		places = *p
	}
	places = append(places, place) // readers see only the places that their slice has
	l.places.Store(&places)
}

// removed notes that a place has become nil. If most are, it makes a list
// without them.
func (l *recordList) removed() {
	l.gone++
	all := *l.places.Load()
	if 2*l.gone <= len(all) {
		return
	}
	places := make([]*atomic.Pointer[record], 0, len(all)-l.gone)
	for _, place := range all {
		if place.Load() != nil {
			places = append(places, place)
		}
	}
	l.places.Store(&places)
	l.gone = 0
}

func (l *recordList) records() []*record {
	p := l.places.Load()
	if p == nil {
		return nil
	}
	all := make([]*record, 0, len(*p))
	for _, place := range *p {
		if r := place.Load(); r != nil {
			all = append(all, r)
		}
	}
	return all
}
