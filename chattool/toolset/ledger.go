package toolset

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
	"github.com/toolproc/toolproc/headtail"
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
	// lookLimit is how long a result waits for news of other processes.
	lookLimit = 2 * time.Second
	// lastLineBytes is how much of an output is read for its last line, and for why a
	// command in the background has failed.
	lastLineBytes = 4 << 10
)

// A ledger holds what is not told yet: which processes has a Set left running
// in each conversation, and what has become of those? There is no queue of
// messages. What a model is to be told is computed from the ledger when it is
// needed, so a result that shows an end also takes it out of every message.
type ledger struct {
	// managers returns the manager of a conversation, or an error.
	managers func(context.Context) (procmgr.Manager, error)
	// setID tells the cursors of this ledger from the cursors of another one.
	setID string
	// outputTool is the name of the tool that reads the output of a process.
	outputTool string

	mu    sync.Mutex // guards the fields below, and everything that they hold
	books map[conversation]*book
	count int    // jobs in all books
	order uint64 // of the last job
	pages uint64 // of events that were read
}

// A conversation is a chat. For a manager without chats, it is the manager.
type conversation struct {
	Chat    string
	manager procmgr.Manager // nil if Chat is set: each call of a chat may have another manager
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

// A turn is what one call finds out beside its own work.
type turn struct {
	// started is the ID that Start was called with, if it was. A panic must not
	// lose the process.
	started string
	manager procmgr.Manager // nil until the resolver has returned one
	command string          // of execute

	// since is a place in the events before the match of what is started, if it
	// is to be told, or before the turn has ended. It is "" if it is not known.
	// page is the last page that was read before.
	since string
	page  uint64
	who   conversation // of the call, if known is set
	known bool
}

// A view is what a result shows of processes: the listed processes, or one process and
// its output, or only the ID of a process that may live.
type view struct {
	listed    []procmgr.Process
	out       *procmgr.Output
	processID string
}

// sameManager reports whether two Managers are known to be the same one. Some cannot be
// compared, not even with themselves.
func sameManager(a, b procmgr.Manager) bool {
	return a != nil && reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// conversationOf returns the conversation to which a process belongs that a
// manager has shown.
func conversationOf(m procmgr.Manager, chat string) conversation {
	who := conversation{Chat: chat}
	if chat == "" && sameManager(m, m) {
		who.manager = m
	}
	return who
}

// conversationIn returns the conversation that sees a list of processes. ok is
// false if the list does not tell.
func conversationIn(m procmgr.Manager, processes []procmgr.Process) (who conversation, ok bool) {
	if len(processes) == 0 {
		return conversation{}, false
	}
	chat := processes[0].ChatID
	for _, p := range processes[1:] {
		if p.ChatID != chat {
			chat = "" // a host sees every chat, and is a conversation of its own
		}
	}
	return conversationOf(m, chat), true
}

// of returns the conversation that was last seen by a manager.
func (l *ledger) of(m procmgr.Manager) (who conversation, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for who, b := range l.books {
		if sameManager(b.manager, m) {
			return who, true
		}
	}
	return conversation{}, false
}

// conversation does the same as conversationOf, for a manager that may be a
// host: it sees the processes of every chat, and is a conversation of its own.
func (l *ledger) conversation(m procmgr.Manager, chat string) conversation {
	l.mu.Lock()
	defer l.mu.Unlock()
	if own := conversationOf(m, ""); chat != "" && own.manager != nil && l.books[own] != nil {
		return own
	}
	return conversationOf(m, chat)
}

// watchFrom notes the place in the events from which on it is to be told what becomes
// of a process that the turn starts.
func (l *ledger) watchFrom(ctx context.Context, t *turn) error {
	l.mu.Lock()
	t.page = l.pages
	l.mu.Unlock()
	page, err := events(ctx, t.manager, procmgr.EventsRequest{Limit: -1})
	t.since = page.Next
	return err
}

// watch reports whether it can be told what becomes of a process that the turn leaves
// running: its manager has events.
func (l *ledger) watch(ctx context.Context, t *turn, chat string) bool {
	l.mu.Lock()
	b := l.books[conversationOf(t.manager, chat)]
	l.mu.Unlock()
	if t.since != "" || b != nil {
		return true
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookLimit)
	defer cancel()
	return !errors.Is(l.watchFrom(ctx, t), errors.ErrUnsupported)
}

// watches reports whether the model will be told what becomes of a process.
func (l *ledger) watches(who conversation, id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.books[who]
	return b != nil && b.jobs[id] != nil
}

// note enters into the ledger what a result shows: which processes have ended,
// and which one it leaves running.
func (l *ledger) note(ctx context.Context, t *turn, r view) {
	if t.manager == nil {
		return
	}
	if r.listed != nil {
		if t.who, t.known = conversationIn(t.manager, r.listed); t.known {
			t.who = l.conversation(t.manager, t.who.Chat)
		}
		for _, p := range r.listed {
			if t.known && conversationOf(t.manager, p.ChatID) == t.who {
				l.show(t.who, p)
			}
		}
		return
	}
	var p procmgr.Process
	if r.out != nil && r.out.Process.State != "" {
		p = r.out.Process
		t.who, t.known = l.conversation(t.manager, p.ChatID), true
		l.show(t.who, p)
	} else {
		t.who, t.known = l.of(t.manager)
	}
	if p.State != procmgr.Exited && t.started != "" && r.processID == t.started && t.known && l.watch(ctx, t, p.ChatID) {
		maybe := p.ID == ""
		p.ID, p.Command = t.started, cmp.Or(p.Command, t.command)
		l.leave(t, p, maybe)
	}
}

// show notes that a result shows how a process stands.
func (l *ledger) show(who conversation, p procmgr.Process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.books[who]
	switch {
	case b == nil:
	case p.State == procmgr.Exited:
		l.drop(who, p.ID)
	case b.jobs[p.ID] != nil:
		b.jobs[p.ID].toldPrompt(p.Waiting)
	}
}

// leave notes that a turn has left a process running. maybe says that it may not have
// started.
func (l *ledger) leave(t *turn, p procmgr.Process, maybe bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.book(t.who, t.manager); b.read == "" || t.since != "" && b.page > t.page {
		b.read = t.since // an event that is read twice does no harm
	}
	j := l.add(t.who, p)
	j.maybe = maybe
	j.toldPrompt(p.Waiting)
}

// book returns the book of a conversation. The caller holds mu, and adds a job.
func (l *ledger) book(who conversation, m procmgr.Manager) *book {
	b := l.books[who]
	if b == nil {
		b = &book{jobs: make(map[string]*job)}
		if l.books == nil {
			l.books = make(map[conversation]*book)
		}
		l.books[who] = b
	}
	b.manager = m
	return b
}

// add adds a job to the book of a conversation. The caller holds mu.
func (l *ledger) add(who conversation, p procmgr.Process) *job {
	b := l.books[who]
	p.Command = wording.Clip(p.Command, maxKeptCommand)
	if j := b.jobs[p.ID]; j != nil {
		return j
	}
	l.order++
	j := &job{id: p.ID, order: l.order, process: p, unsure: true}
	b.jobs[p.ID] = j
	if l.count++; l.count > maxLeft {
		var most conversation
		for who, b := range l.books {
			if top := l.books[most]; top == nil || len(b.jobs) > len(top.jobs) {
				most = who
			}
		}
		l.drop(most, l.books[most].sorted()[0].id)
	}
	return j
}

// stoppedByUser notes that a stop by the user is about to end a process of a chat.
func (l *ledger) stoppedByUser(m procmgr.Manager, chat, id string) {
	who := l.conversation(m, chat)
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.books[who]; b != nil && b.jobs[id] != nil {
		b.jobs[id].stopped = true
	}
}

// drop removes a job, and the book if it has no other. The caller holds mu.
func (l *ledger) drop(who conversation, id string) {
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

// sorted returns the jobs of a book in the order in which they were left.
func (b *book) sorted() (jobs []*job) {
	for _, j := range b.jobs {
		jobs = append(jobs, j)
	}
	slices.SortFunc(jobs, func(a, b *job) int { return cmp.Compare(a.order, b.order) })
	return jobs
}

// due returns the jobs with something to tell, the oldest news first.
func (b *book) due() (due []*job) {
	for _, j := range b.sorted() {
		if j.due() {
			due = append(due, j)
		}
	}
	slices.SortStableFunc(due, func(x, y *job) int { return x.at.Compare(y.at) })
	return due
}

// choose returns the jobs for one message, without the jobs that a result shows.
func (b *book) choose(shown map[string]string) (chosen []*job) {
	size := 0
	for _, j := range b.due() {
		if _, ok := shown[j.id]; ok || !j.ready() {
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

// empty reports whether nothing was left running that has not been told.
func (l *ledger) empty() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count == 0
}

// meanwhile claims the notices for the result of a call: what has become of the
// processes that the Set has left running in this conversation, except for the
// processes that the result itself shows. Of two concurrent calls, one gets them.
func (l *ledger) meanwhile(ctx context.Context, t *turn, r view) (notices []string) {
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
	if t.manager == nil {
		t.manager, _ = l.managers(ctx)
	}
	if !t.known {
		if t.who, t.known = l.of(t.manager); !t.known {
			return nil // the next result tells it
		}
	}
	shown := make(map[string]string) // what the result shows of each process
	for _, p := range r.listed {
		shown[p.ID] = ""
	}
	if r.processID != "" {
		shown[r.processID] = ""
	}
	if r.out != nil {
		shown[r.out.Process.ID] = r.out.Text
	}
	l.mu.Lock()
	b, others := l.books[t.who], false // whether there is more than the result shows
	if b != nil {
		for id := range b.jobs {
			_, ok := shown[id]
			others = others || !ok
		}
	}
	l.mu.Unlock()
	if !others || l.look(ctx, t.manager, t.who) != nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if b = l.books[t.who]; b == nil {
		return nil
	}
	for id, text := range shown {
		if j := b.jobs[id]; j != nil && j.matched && strings.Contains(text, j.matchedLine) {
			j.matched, j.matchTold = false, true
		}
	}
	for _, j := range b.choose(shown) {
		notices = append(notices, j.notice())
		l.told(t.who, j, *j)
	}
	return notices
}

// told notes that the model is told how a job was. The caller holds mu.
func (l *ledger) told(who conversation, j *job, was job) {
	if was.ended {
		l.drop(who, j.id)
		return
	}
	j.toldPrompt(was.prompt)
	if was.matched {
		j.matched, j.matchTold = false, true
	}
}

// look brings the book of a conversation up to date with the manager's events, and,
// where the events do not tell enough, with the state and the last line of the process.
func (l *ledger) look(ctx context.Context, m procmgr.Manager, who conversation) error {
	l.mu.Lock()
	b := l.books[who]
	after := ""
	if b != nil {
		after = b.read
	}
	l.mu.Unlock()
	if b == nil {
		return nil
	}
	page, err := events(ctx, m, procmgr.EventsRequest{After: after, Limit: -1})
	if err != nil {
		return err
	}
	if after == "" {
		page.Events, page.Gap = nil, false // from before the first look: no news
	}
	l.enterEvents(who, m, after, page)
	for _, id := range l.unread(who) {
		out, err := m.Output(ctx, id, procmgr.OutputRequest{Limit: headtail.Limits{Bytes: lastLineBytes}})
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		held := ""
		if err == nil && out.Process.Background {
			held = portHolder(ctx, m, out.Process, out.Text)
		}
		l.enterOutput(who, id, out, err, held)
	}
	return ctx.Err()
}

// events asks a manager for events. If some of its machines do not answer, their events come
// with a later page.
func events(ctx context.Context, m procmgr.Manager, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	page, err := m.Events(ctx, req)
	if partial := (*procmgr.PartialError)(nil); errors.As(err, &partial) && page.Next != "" {
		err = nil
	}
	return page, err
}

// enterEvents enters a page of events into a book.
func (l *ledger) enterEvents(who conversation, m procmgr.Manager, after string, page procmgr.EventPage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.books[who]
	if b == nil {
		return // another call has told all that there was
	}
	b.manager = m
	l.pages++
	for _, e := range page.Events {
		if conversationOf(m, e.Process.ChatID) == who {
			b.happened(e)
		}
	}
	if b.read == after { // or another call has read further meanwhile
		b.read, b.page = page.Next, l.pages
	}
	for _, j := range b.jobs {
		j.unsure = j.unsure || page.Gap && !j.ended
	}
}

// unread returns the jobs to ask the manager about: jobs whose state the events do not
// tell, and jobs that come next but whose last line is not known.
func (l *ledger) unread(who conversation) (ids []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.books[who]
	if b == nil {
		return nil
	}
	due := b.due()
	for _, j := range due[:min(len(due), maxTold)] {
		if !j.ready() && !j.unsure {
			ids = append(ids, j.id)
		}
	}
	for _, j := range b.sorted() {
		if j.unsure {
			ids = append(ids, j.id)
		}
	}
	return ids
}

// enterOutput enters what the manager says of a job. An end whose output cannot be read
// is told without its last line, and a question that is no longer asked is not told. held
// is what portHolder says.
func (l *ledger) enterOutput(who conversation, id string, out procmgr.Output, err error, held string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.books[who]
	if b == nil || b.jobs[id] == nil {
		return
	}
	j, p := b.jobs[id], out.Process
	switch missing := errors.Is(err, procmgr.ErrNotFound) || errors.Is(err, procmgr.ErrInvalid); { // no process can have an invalid ID
	case missing && !j.ended && j.maybe && !errors.Is(err, procmgr.ErrUnknown):
		l.drop(who, id) // it has not started
	case missing && !j.ended:
		j.lose()
	case err != nil:
		j.read = j.read || j.ended // or the next look tries again
	case p.State == procmgr.Exited || j.ended:
		if p.ID = id; !j.ended {
			j.exit(p)
		}
		j.line, j.read, j.held = lastLine(out.Text), true, held
	default:
		p.ID, j.unsure = id, false
		j.know(p)
		j.prompts(out.Process.Waiting)
		j.line, j.read = lastLine(out.Text), true
	}
}

// lastLine returns the last line of a text that is not blank.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
