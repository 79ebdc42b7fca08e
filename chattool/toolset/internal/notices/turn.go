package notices

import (
	"context"
	"reflect"
	"strings"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/procmgr"
)

// maxMeanwhile is how much one message tells, in bytes of a result.
const maxMeanwhile = 2 << 10

// A Turn is what one call finds out beside its own work.
type Turn struct {
	// Started is the ID that Start was called with, if it was. A panic must not
	// lose the process.
	Started string
	Manager procmgr.Manager // nil until the resolver has returned one
	Command string          // of execute
	// Since is the place in the events before the start, or "" if it is not known.
	Since string
	// Listed is the list that the call itself has asked for, or nil.
	Listed []procmgr.Process

	// who is the conversation of the call, if known is set.
	who   Conversation
	known bool
	// reads is how many pages of events had been read before the start. over is
	// for End.
	reads uint64
	over  func()
}

// End notes that the outcome of a start is in the ledger, or need not be.
func (t *Turn) End() {
	if t.over != nil {
		t.over()
	}
}

// A View is what a result shows of processes: those that it lists, or one of them
// and its output, or the ID alone of one that may live.
type View struct {
	Listed    []procmgr.Process
	Out       *procmgr.Output
	ProcessID string
}

// Note enters into the ledger what a result shows: which processes have ended,
// and which one it leaves running.
func (l *Ledger) Note(t *Turn, r View) {
	defer t.End()
	if t.Manager == nil {
		return
	}
	if r.Listed != nil {
		t.who, t.known = conversationIn(t.Manager, t.Listed)
		for _, p := range r.Listed {
			switch of := ConversationOf(t.Manager, p.ChatID); {
			case !t.known || of != t.who:
			case p.State == procmgr.Exited:
				l.show(t.who, p)
			default:
				l.showQuestion(t.who, p.ID, p.Waiting)
			}
		}
		return
	}
	var p procmgr.Process
	if r.Out != nil && r.Out.Process.State != "" {
		p = r.Out.Process
		t.who, t.known = l.conversation(t.Manager, p.ChatID), true
	} else {
		t.who, t.known = l.of(t.Manager)
	}
	switch {
	case p.State == procmgr.Exited:
		l.show(t.who, p)
	case t.Started != "" && r.ProcessID == t.Started && t.known:
		left := leaving{process: p, maybe: p.ID == "", reads: t.reads, since: t.Since}
		left.process.ID = t.Started
		if left.process.Command == "" {
			left.process.Command = t.Command
		}
		l.leave(t.who, t.Manager, left)
	}
	if r.Out != nil {
		l.showQuestion(t.who, p.ID, r.Out.Waiting)
	}
}

// showQuestion notes that a result shows how a process waits for input.
func (l *Ledger) showQuestion(who Conversation, id string, w *procmgr.Waiting) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.books[who]; b != nil && b.jobs[id] != nil {
		b.jobs[id].told(w)
	}
}

// Meanwhile claims what is to be told in the result of a call: what has become
// of the processes that the Set has left running in this conversation, except
// for those that the result itself shows. Of two calls at the same time, one
// gets it.
func (l *Ledger) Meanwhile(ctx context.Context, t *Turn, r View) (notices []string) {
	if ctx.Err() != nil || l.empty() {
		return nil
	}
	defer func() {
		if recover() != nil {
			notices = nil // a manager that panics must not cost the result
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	if !t.known {
		if t.who, t.known = l.whose(ctx, t); !t.known {
			return nil
		}
	}
	shown := make(map[string]string) // what the result shows of each process
	for _, p := range r.Listed {
		shown[p.ID] = ""
	}
	if r.ProcessID != "" {
		shown[r.ProcessID] = ""
	}
	if r.Out != nil {
		shown[r.Out.Process.ID] = r.Out.Text
	}
	if !l.others(t.who, shown) {
		return nil
	}
	if err := l.look(ctx, t.Manager, t.who, t.Listed); err != nil {
		return nil // the next result tells it
	}
	return l.claim(t.who, shown)
}

// others reports whether something may have become of a process that a result
// does not show.
func (l *Ledger) others(who Conversation, shown map[string]string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.books[who]; b != nil {
		for id := range b.jobs {
			if _, ok := shown[id]; !ok {
				return true
			}
		}
	}
	return false
}

// whose returns the conversation of a call that has seen no process.
func (l *Ledger) whose(ctx context.Context, t *Turn) (who Conversation, ok bool) {
	if t.Manager == nil {
		m, err := l.manager(ctx)
		if err != nil {
			return Conversation{}, false
		}
		t.Manager = m
	}
	if who, ok = l.of(t.Manager); ok {
		return who, true
	}
	if t.Listed == nil {
		list, err := listAll(ctx, t.Manager)
		if err != nil {
			return Conversation{}, false
		}
		t.Listed = list
	}
	return conversationIn(t.Manager, t.Listed)
}

// of returns the conversation that was last seen by a manager.
func (l *Ledger) of(m procmgr.Manager) (who Conversation, ok bool) {
	if !reflect.ValueOf(m).Comparable() {
		return Conversation{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for who, b := range l.books {
		if b.manager != nil && reflect.ValueOf(b.manager).Comparable() && b.manager == m {
			return who, true
		}
	}
	return Conversation{}, false
}

// claim takes what one message can tell out of the ledger. shown has the
// processes that the result shows, with the output of them that it has.
func (l *Ledger) claim(who Conversation, shown map[string]string) (notices []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.books[who]
	if b == nil {
		return nil
	}
	for id, text := range shown {
		if j := b.jobs[id]; j != nil && j.matched && strings.Contains(text, j.matchedLine) {
			j.matchTold = true
		}
	}
	wanted := func(j *job) bool {
		_, ok := shown[j.id]
		return !ok && !j.offered
	}
	for _, j := range choose(b, wanted) {
		notices = append(notices, j.notice())
		l.tell(who, j, j.ended, j.asks)
	}
	return notices
}

// tell notes that the model is told of a match, of the end if ended is set, and how the
// process waits for input if asks is not nil. The caller holds mu.
func (l *Ledger) tell(who Conversation, j *job, ended bool, asks *procmgr.Waiting) {
	if ended {
		l.seen(who, j.id)
		return
	}
	j.told(asks)
	j.matchTold, j.offered = j.matched, false
}

// choose returns the jobs of which one message tells. The caller holds the
// ledger's mu.
func choose(b *book, wanted func(*job) bool) (chosen []*job) {
	size := 0
	for _, j := range dueIn(b, len(b.jobs)) {
		if !j.ready() || !wanted(j) {
			continue
		}
		size += wording.Len(j.notice()) + len(`"",`)
		if len(chosen) == maxTold || size > maxMeanwhile {
			break
		}
		chosen = append(chosen, j)
	}
	return chosen
}
