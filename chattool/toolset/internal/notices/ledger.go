package notices

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
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
	// maxKeptCommand is how much of each command it remembers, in bytes of JSON.
	maxKeptCommand = 256
	// maxShown is how many ends a Set remembers that a result has shown. An
	// [Inbox] that takes over from another Set leaves these out.
	maxShown = 1024
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

	// reads counts the pages of events that were read into a book. If it has
	// changed while a command was being started, the page may have had an
	// event of that command.
	reads uint64
	// starting has the IDs of the commands that execute waits for.
	starting map[string]int
	// news counts the ends that results have shown, and the processes that were
	// left running.
	news uint64
	// shown has the ends that results have shown, in a ring.
	shown map[end]bool
	ring  []end
	next  int // in ring
	// unseated is how many Inboxes do not know yet which conversation they are
	// for.
	unseated int
	// wakes are called when a process is left running.
	wakes map[int]func()
	waked int // the last key in wakes
}

// An end is that of a process in a conversation.
type end struct {
	who Conversation
	id  string
}

// A Conversation is a chat. For a manager without chats, it is the manager.
type Conversation struct {
	chat    string
	manager procmgr.Manager // nil if chat is set: each call of a chat may have another manager
}

// A book is the part of a ledger for one conversation.
type book struct {
	jobs map[string]*job // by ID
	// manager is the one by which the conversation was seen last.
	manager procmgr.Manager
	// read is the place up to which the events of the manager have been read,
	// or "".
	read string
	// stale says that events alone do not tell how all jobs stand.
	stale bool
	// latest is when the last process exited that was seen in the conversation.
	latest time.Time
	// pinned says that an Inbox needs the book even if it has no job.
	pinned int
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

// listAll lists all processes of a manager.
func listAll(ctx context.Context, m procmgr.Manager) ([]procmgr.Process, error) {
	page, err := m.List(ctx, procmgr.ListRequest{})
	return page.Processes, err
}

// empty reports whether nothing was left running that has not been told.
func (l *Ledger) empty() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count == 0
}

// settled returns how much has been entered. ok is false if a command is being
// started, whose outcome is not in the ledger yet.
func (l *Ledger) settled() (news uint64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.news, len(l.starting) == 0
}

// Begin notes that a command is being started in a turn.
func (l *Ledger) Begin(t *Turn, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.starting == nil {
		l.starting = make(map[string]int)
	}
	l.starting[id]++
	t.Started, t.reads = id, l.reads
	t.over = func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.starting[id]--; l.starting[id] <= 0 {
			delete(l.starting, id)
		}
	}
}

// book returns the book of a conversation. The caller holds mu.
func (l *Ledger) book(who Conversation, m procmgr.Manager) *book {
	b := l.books[who]
	if b == nil {
		b = &book{jobs: make(map[string]*job), stale: true}
		if l.books == nil {
			l.books = make(map[Conversation]*book)
		}
		l.books[who] = b
	}
	if m != nil {
		b.manager = m
	}
	return b
}

// drop removes a job, and the book if nobody needs it. The caller holds mu.
func (l *Ledger) drop(who Conversation, id string) {
	b := l.books[who]
	if b == nil || b.jobs[id] == nil {
		return
	}
	delete(b.jobs, id)
	l.count--
	l.tidy(who)
}

// tidy removes a book that nobody needs. An Inbox that does not know its
// conversation yet may need any. The caller holds mu.
func (l *Ledger) tidy(who Conversation) {
	if b := l.books[who]; b != nil && len(b.jobs) == 0 && b.pinned == 0 && l.unseated == 0 {
		delete(l.books, who)
	}
}

// A leaving is a process that a call of execute leaves running.
type leaving struct {
	process procmgr.Process
	maybe   bool // the process may not have started
	// reads is that of the turn. since is the place in the events before
	// the start, or "" if it is not known.
	reads uint64
	since string
}

// leave notes that a process was left running.
func (l *Ledger) leave(who Conversation, m procmgr.Manager, p leaving) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.book(who, m)
	missed := l.reads != p.reads
	switch {
	case p.since != "" && b.read == "":
		b.read = p.since
		b.stale = len(b.jobs) > 0
	case p.since != "" && missed:
		b.read = p.since // a match may have been in the page; to read an event twice does no harm
	case missed || b.read == "":
		b.stale = true
	}
	l.add(b, p.process).maybe = p.maybe
	l.news++
	for _, wake := range l.wakes {
		wake()
	}
}

// add adds a job to a book. The caller holds mu.
func (l *Ledger) add(b *book, p procmgr.Process) *job {
	p.Command = wording.Clip(p.Command, maxKeptCommand)
	if j := b.jobs[p.ID]; j != nil {
		return j
	}
	l.order++
	j := &job{id: p.ID, order: l.order, process: p}
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
	oldest := slices.MinFunc(jobsOf(l.books[most]), func(a, b *job) int { return cmp.Compare(a.order, b.order) })
	l.drop(most, oldest.id)
}

// jobsOf returns the jobs of a book in the order in which they were left.
func jobsOf(b *book) []*job {
	var jobs []*job
	for _, j := range b.jobs {
		jobs = append(jobs, j)
	}
	slices.SortFunc(jobs, func(a, b *job) int { return cmp.Compare(a.order, b.order) })
	return jobs
}

// show notes that a result shows the end of a process.
func (l *Ledger) show(who Conversation, p procmgr.Process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.books[who]; b != nil {
		b.exit(p)
	}
	l.news++
	l.seen(who, p.ID)
}

// seen notes that the model knows the end of a process. The caller holds mu.
func (l *Ledger) seen(who Conversation, id string) {
	l.drop(who, id)
	e := end{who, id}
	if l.shown[e] {
		return
	}
	if l.shown == nil {
		l.shown = make(map[end]bool)
	}
	l.shown[e] = true
	if len(l.ring) < maxShown {
		l.ring = append(l.ring, e)
		return
	}
	delete(l.shown, l.ring[l.next])
	l.ring[l.next] = e
	l.next = (l.next + 1) % maxShown
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
