package notices

import "github.com/toolproc/toolproc/procmgr"

// A seat says which conversation an Inbox is for. The ledger's mu guards it.
type seat struct {
	who   Conversation
	taken bool // who is known, and its book pinned
}

// sit notes that there is an Inbox.
func (l *Ledger) sit() *seat {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unseated++
	return &seat{}
}

// take gives a seat its conversation.
func (l *Ledger) take(st *seat, who Conversation, m procmgr.Manager) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if st.taken {
		return
	}
	st.who, st.taken = who, true
	l.unseated--
	l.book(who, m).pinned++
}

func (l *Ledger) taken(st *seat) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return st.taken
}

// rise notes that an Inbox has been collected as garbage.
func (l *Ledger) rise(st *seat) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !st.taken {
		l.unseated--
		return
	}
	if b := l.books[st.who]; b != nil {
		b.pinned--
		l.tidy(st.who)
	}
}

// Attended reports whether there is an Inbox that tells of a conversation, or
// may be one.
func (l *Ledger) Attended(who Conversation) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.books[who]
	return l.unseated > 0 || b != nil && b.pinned > 0
}
