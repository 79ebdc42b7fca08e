// Package notices knows which processes a set of tools has left running, and what
// the model has not been told of them: for the results of later calls, and for the
// inbox of a host.
package notices

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	// maxLeft is how many processes a Set remembers that it has left running.
	// If there are more, the conversation with the most of them loses its
	// oldest one.
	maxLeft = 1024
	// maxTold is how many processes one message tells of, and maxMeanwhile how much
	// it tells, in bytes of a result.
	maxTold      = 8
	maxMeanwhile = 2 << 10
)

// A Ledger holds what is not told yet: which processes has a Set left running
// in each conversation, and what has become of those? There is no queue of
// messages. What a model is to be told is computed from the ledger when it is
// needed, so a result that shows an end also takes it out of every message.
type Ledger struct {
	// Managers returns the manager of a conversation.
	Managers func(context.Context) (procmgr.Manager, error)
	// SetID tells the cursors of this ledger from those of another one.
	SetID string
	// OutputTool is the name of the tool that reads the output of a process.
	OutputTool string

	mu    sync.Mutex // guards the fields below, and everything that they hold
	books map[Conversation]*book
	count int    // jobs in all books
	order uint64 // of the last job
	// starting counts the commands whose outcome is not in the ledger yet.
	starting int
	inbox    bool   // there has been an Inbox
	reads    uint64 // pages of events
	// latest is when the last process exited that was seen in a conversation, by the
	// clock of its manager, if there has been an Inbox.
	latest map[Conversation]time.Time
	// wakes are called when a process is left running.
	wakes map[int]func()
	waked int // the last key in wakes
}

// A Conversation is a chat. For a manager without chats, it is the manager.
type Conversation struct {
	chat    string
	manager procmgr.Manager // nil if chat is set: each call of a chat may have another manager
}

// A book is the part of a ledger for one conversation. It has at least one job.
type book struct {
	jobs map[string]*job // by ID
	// manager is the one by which the conversation was seen last.
	manager procmgr.Manager
	// read is the place up to which the events of the manager have been read, and
	// page the number of the page that ended there.
	read string
	page uint64
}

// A Turn is what one call finds out beside its own work.
type Turn struct {
	// Started is the ID that Start was called with, if it was. A panic must not
	// lose the process.
	Started string
	Manager procmgr.Manager // nil until the resolver has returned one
	Command string          // of execute
	// since is a place in the events before the match of what is started, if it
	// is to be told, or before the turn has ended. It is "" if it is not known.
	// page is the last page that was read before.
	since string
	page  uint64
	// Unwatched says that the manager has no events.
	Unwatched bool

	who   Conversation // of the call, if known is set
	known bool
	over  func() // for End
}

// A View is what a result shows of processes: those that it lists, or one of them
// and its output, or the ID alone of one that may live.
type View struct {
	Listed    []procmgr.Process
	Out       *procmgr.Output
	ProcessID string
}

// ConversationOf returns the conversation to which a process belongs that a
// manager has shown.
func ConversationOf(m procmgr.Manager, chat string) Conversation {
	who := Conversation{chat: chat}
	if chat == "" && reflect.ValueOf(m).Comparable() {
		who.manager = m
	}
	return who
}

// conversationIn returns the conversation that sees a list of processes. ok is
// false if the list does not tell.
func conversationIn(m procmgr.Manager, processes []procmgr.Process) (who Conversation, ok bool) {
	if len(processes) == 0 {
		return Conversation{}, false
	}
	chat := processes[0].ChatID
	for _, p := range processes[1:] {
		if p.ChatID != chat {
			chat = "" // a host sees every chat, and is a conversation of its own
		}
	}
	return ConversationOf(m, chat), true
}

// of returns the conversation that was last seen by a manager.
func (l *Ledger) of(m procmgr.Manager) (who Conversation, ok bool) {
	if m == nil || !reflect.ValueOf(m).Comparable() {
		return Conversation{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for who, b := range l.books {
		if reflect.ValueOf(b.manager).Comparable() && b.manager == m {
			return who, true
		}
	}
	return Conversation{}, false
}

// manager asks for the manager of a conversation.
func (l *Ledger) manager(ctx context.Context) (procmgr.Manager, error) {
	if l.Managers == nil {
		return nil, errors.New("no process manager is set up")
	}
	m, err := l.Managers(ctx)
	if err == nil && m == nil {
		err = errors.New("there is no process manager for this chat")
	}
	return m, err
}

// Begin notes that a command is being started in a turn.
func (l *Ledger) Begin(t *Turn, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.starting++
	t.Started = id
	t.over = func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.starting--
	}
}

// End notes that the outcome of a start is in the ledger, or need not be.
func (t *Turn) End() {
	if t.over != nil {
		t.over()
	}
}

// Watch finds out whether it can be told what becomes of a process that the turn
// leaves running, and from which place in the events on.
func (l *Ledger) Watch(ctx context.Context, t *Turn, chat string) bool {
	if t.since != "" || t.Unwatched {
		return !t.Unwatched
	}
	l.mu.Lock()
	b := l.books[ConversationOf(t.Manager, chat)]
	l.mu.Unlock()
	if b != nil {
		return true
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookLimit)
	defer cancel()
	_ = l.WatchFrom(ctx, t)
	return !t.Unwatched
}

// WatchFrom notes the place in the events from which on it is to be told what becomes
// of a process that the turn is going to start.
func (l *Ledger) WatchFrom(ctx context.Context, t *Turn) error {
	l.mu.Lock()
	t.page = l.reads
	l.mu.Unlock()
	page, err := t.Manager.Events(ctx, procmgr.EventsRequest{Limit: -1})
	t.since, t.Unwatched = page.Next, errors.Is(err, errors.ErrUnsupported)
	return err
}

// Watches reports whether the model will be told what becomes of a process.
func (l *Ledger) Watches(who Conversation, id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.books[who]
	return b != nil && b.jobs[id] != nil
}

// Attended reports whether an Inbox tells of what becomes of processes.
func (l *Ledger) Attended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inbox
}

// Note enters into the ledger what a result shows: which processes have ended,
// and which one it leaves running.
func (l *Ledger) Note(ctx context.Context, t *Turn, r View) {
	defer t.End()
	if t.Manager == nil {
		return
	}
	if r.Listed != nil {
		if t.who, t.known = conversationIn(t.Manager, r.Listed); t.known {
			t.who = l.conversation(t.Manager, t.who.chat)
		}
		for _, p := range r.Listed {
			if t.known && ConversationOf(t.Manager, p.ChatID) == t.who {
				l.show(t.who, p)
			}
		}
		return
	}
	var p procmgr.Process
	if r.Out != nil && r.Out.Process.State != "" {
		p = r.Out.Process
		p.Waiting = r.Out.Waiting
		t.who, t.known = l.conversation(t.Manager, p.ChatID), true
		l.show(t.who, p)
	} else {
		t.who, t.known = l.of(t.Manager)
	}
	if p.State != procmgr.Exited && t.Started != "" && r.ProcessID == t.Started && t.known && l.Watch(ctx, t, p.ChatID) {
		maybe := p.ID == ""
		p.ID, p.Command = t.Started, cmp.Or(p.Command, t.Command)
		l.leave(t.who, t, p, maybe)
	}
}

// conversation does the same as ConversationOf, for a manager that may be a
// host: it sees the processes of every chat, and is a conversation of its own.
func (l *Ledger) conversation(m procmgr.Manager, chat string) Conversation {
	l.mu.Lock()
	defer l.mu.Unlock()
	if own := ConversationOf(m, ""); chat != "" && own.manager != nil && l.books[own] != nil {
		return own
	}
	return ConversationOf(m, chat)
}

// show notes that a result shows how a process stands.
func (l *Ledger) show(who Conversation, p procmgr.Process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.see(who, p.ExitedAt)
	b := l.books[who]
	switch {
	case b == nil:
	case p.State == procmgr.Exited:
		l.drop(who, p.ID)
	case b.jobs[p.ID] != nil:
		b.jobs[p.ID].told(p.Waiting)
	}
}

// see notes when the last process has exited. The caller holds mu.
func (l *Ledger) see(who Conversation, at time.Time) {
	if !l.inbox || !at.After(l.latest[who]) {
		return
	}
	if l.latest == nil || len(l.latest) >= maxLeft {
		l.latest = make(map[Conversation]time.Time)
	}
	l.latest[who] = at
}

// leave notes that a process was left running. maybe says that it may not have
// started.
func (l *Ledger) leave(who Conversation, t *Turn, p procmgr.Process, maybe bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.book(who, t.Manager)
	if b.read == "" || t.since != "" && b.page > t.page {
		b.read = t.since // an event that is read twice does no harm
	}
	j := l.add(who, p)
	j.maybe = maybe
	j.told(p.Waiting)
	for _, wake := range l.wakes {
		wake()
	}
}

// book returns the book of a conversation. The caller holds mu, and adds a job.
func (l *Ledger) book(who Conversation, m procmgr.Manager) *book {
	b := l.books[who]
	if b == nil {
		b = &book{jobs: make(map[string]*job)}
		if l.books == nil {
			l.books = make(map[Conversation]*book)
		}
		l.books[who] = b
	}
	b.manager = m
	return b
}

// add adds a job to the book of a conversation. The caller holds mu.
func (l *Ledger) add(who Conversation, p procmgr.Process) *job {
	b := l.books[who]
	p.Command = wording.Clip(p.Command, maxKeptCommand)
	if j := b.jobs[p.ID]; j != nil {
		return j
	}
	l.order++
	j := &job{id: p.ID, order: l.order, process: p, unsure: true}
	b.jobs[p.ID] = j
	if l.count++; l.count > maxLeft {
		l.forget()
	}
	return j
}

// forget drops the oldest job of the conversation that has the most. The caller
// holds mu.
func (l *Ledger) forget() {
	var most Conversation
	for who, b := range l.books {
		if top := l.books[most]; top == nil || len(b.jobs) > len(top.jobs) {
			most = who
		}
	}
	l.drop(most, jobsOf(l.books[most])[0].id)
}

// drop removes a job, and the book if it has no other. The caller holds mu.
func (l *Ledger) drop(who Conversation, id string) {
	b := l.books[who]
	if b == nil || b.jobs[id] == nil {
		return
	}
	delete(b.jobs, id)
	l.count--
	if len(b.jobs) == 0 {
		delete(l.books, who)
	}
}

// jobsOf returns the jobs of a book in the order in which they were left.
func jobsOf(b *book) (jobs []*job) {
	for _, j := range b.jobs {
		jobs = append(jobs, j)
	}
	slices.SortFunc(jobs, func(a, b *job) int { return cmp.Compare(a.order, b.order) })
	return jobs
}

// onLeave calls wake whenever a process is left running, until forget is called.
func (l *Ledger) onLeave(wake func()) (forget func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wakes == nil {
		l.wakes = make(map[int]func())
	}
	l.waked++
	key := l.waked
	l.wakes[key] = wake
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.wakes, key)
	}
}

// empty reports whether nothing was left running that has not been told.
func (l *Ledger) empty() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count == 0
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
	if t.Manager == nil {
		t.Manager, _ = l.manager(ctx)
	}
	if !t.known {
		if t.who, t.known = l.of(t.Manager); !t.known {
			return nil // the next result tells it
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
	if !l.others(t.who, shown) || l.look(ctx, t.Manager, t.who) != nil {
		return nil
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
		l.tell(who, j, j.ended, j.matched, j.asks)
	}
	return notices
}

// tell notes that the model is told of the end if ended is set, of the match if matched
// is, and how the process waits for input if asks is not nil. The caller holds mu.
func (l *Ledger) tell(who Conversation, j *job, ended, matched bool, asks *procmgr.Waiting) {
	if ended {
		l.drop(who, j.id)
		return
	}
	j.told(asks)
	j.matchTold, j.offered = j.matchTold || matched, false
}

// choose returns the jobs of which one message tells. The caller holds the
// ledger's mu.
func choose(b *book, wanted func(*job) bool) (chosen []*job) {
	size := 0
	for _, j := range dueIn(b) {
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

// dueIn returns the jobs of which something is to be told, the oldest news first. The
// caller holds the ledger's mu.
func dueIn(b *book) (due []*job) {
	for _, j := range jobsOf(b) {
		if j.due() {
			due = append(due, j)
		}
	}
	slices.SortStableFunc(due, func(x, y *job) int { return x.at.Compare(y.at) })
	return due
}
