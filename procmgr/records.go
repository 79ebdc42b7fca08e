package procmgr

import (
	"cmp"
	"maps"
	"slices"
)

// records has the records of all chats. The Local's mu guards it.
type records struct {
	byChat  map[string]*chatRecords
	running int // the number of records that have not exited
}

// chatRecords has the records of one chat, by ID.
type chatRecords struct {
	byID      map[string]*record
	running   int
	terminals int // of those that run
}

// get returns a record, or nil if there is none.
func (rs *records) get(chat, id string) *record {
	if c := rs.byChat[chat]; c != nil {
		return c.byID[id]
	}
	return nil
}

// begun adds a record to its chat, as one that has not exited.
func (rs *records) begun(r *record) {
	c := rs.byChat[r.chat]
	if c == nil {
		c = &chatRecords{byID: make(map[string]*record)}
		rs.byChat[r.chat] = c
	}
	c.byID[r.id] = r
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
	if len(c.byID) == 0 {
		delete(rs.byChat, r.chat)
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

// of returns the records of one chat.
func (rs *records) of(chat string) []*record {
	c := rs.byChat[chat]
	if c == nil {
		return nil
	}
	return slices.Collect(maps.Values(c.byID))
}

// all returns the records of every chat.
func (rs *records) all() (all []*record) {
	for _, c := range rs.byChat {
		all = slices.AppendSeq(all, maps.Values(c.byID))
	}
	return all
}

// inOrder sorts records in the order of their starts.
func inOrder(all []*record) {
	slices.SortFunc(all, func(a, b *record) int { return cmp.Compare(a.seq, b.seq) })
}
