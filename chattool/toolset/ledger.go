package toolset

import (
	"cmp"
	"context"
	"errors"
	"maps"
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
	setID string // tells the cursors of this Set from the cursors of another one

	mu    sync.Mutex // guards the fields below, and everything that they hold
	books map[conversation]*book
	count int    // jobs in all books
	order uint64 // of the last job
}

// A conversation is a chat. For a Host, and for a manager without chats, it is the manager.
type conversation struct {
	chat    string
	manager procmgr.Manager // nil if chat is set: each call of a chat may have another manager
}

// A book is the part of a ledger for one conversation. It has at least one job.
type book struct {
	jobs map[string]*job // by ID
	// manager is the one by which the conversation was seen last.
	manager procmgr.Manager
	// read is the place up to which the events of the manager have been read. At "", all
	// events that are kept are read, and events of other processes are passed over.
	read string
}

// A turn is what one call finds out beside its own work.
type turn struct {
	// started is the ID that Start was called with, if it was. A panic must not
	// lose the process.
	started string
	manager procmgr.Manager // nil until the resolver has returned one
	command string          // of execute
	notify  bool            // it has notify_on
	asked   bool            // whether the manager has events
	silent  bool            // it has none
}

// sameManager reports whether two Managers are known to be the same one. Some cannot be
// compared, not even with themselves.
func sameManager(a, b procmgr.Manager) bool {
	return a != nil && reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// conversationOf returns the conversation to which a process belongs that a
// manager has shown. A Host sees every chat, and is a conversation of its own.
func conversationOf(m procmgr.Manager, chat string) (who conversation) {
	if _, host := m.(procmgr.Host); chat != "" && !host {
		who.chat = chat
	} else if sameManager(m, m) {
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
	if slices.ContainsFunc(processes, func(p procmgr.Process) bool { return p.ChatID != chat }) {
		chat = "" // of a Host, also one that a guard hides
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

// watches reports whether the model will be told what becomes of a process.
func (l *ledger) watches(who conversation, id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.books[who] != nil && l.books[who].jobs[id] != nil
}

// hasEvents reports whether the manager of a call has events, by which it can be told what
// becomes of a process. It has if something of the conversation was left running before.
// Otherwise a call asks it once.
func (k *kit) hasEvents(ctx context.Context, t *turn, who conversation) bool {
	k.ledger.mu.Lock()
	known := k.ledger.books[who] != nil
	k.ledger.mu.Unlock()
	if !known && !t.asked {
		ctx, cancel := fresh(ctx, lookLimit)
		defer cancel()
		t.asked, t.silent = true, isSilent(ctx, t.manager)
	}
	return known || !t.silent
}

// tellNotices enters into the ledger what a result shows. Then it claims for the result
// what has become of the other processes that the Set has left running in this
// conversation. Of two concurrent calls, one gets that.
func (k *kit) tellNotices(ctx context.Context, t *turn, r *report) {
	who, ok := k.note(ctx, t, r)
	if !ok || k.opts.NoticesInInbox || ctx.Err() != nil {
		return
	}
	shown := make(map[string]string) // what the result shows of each process
	for _, p := range r.Processes {
		shown[p.ID] = ""
	}
	if r.ProcessID != "" {
		shown[r.ProcessID] = ""
	}
	if r.Out != nil {
		shown[r.Out.Process.ID] = r.Out.Text
	}
	if !k.ledger.hasOthers(who, shown) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	guard(func() { // a manager that panics must not cost the result
		if k.look(ctx, t.manager, who) == nil {
			r.Meanwhile = k.ledger.claim(who, shown)
		}
	})
}

// note enters which processes a result shows, and whether it leaves one running. It
// returns the conversation; ok is false if that is not known, and then the next result
// tells what there is to tell.
func (k *kit) note(ctx context.Context, t *turn, r *report) (who conversation, ok bool) {
	if t.manager == nil {
		return conversation{}, false
	}
	shown := r.Processes
	if r.Out != nil && r.Out.Process.State != "" {
		shown = []procmgr.Process{r.Out.Process}
	}
	if who, ok = conversationIn(t.manager, shown); !ok {
		who, ok = k.ledger.of(t.manager)
	}
	for _, p := range shown {
		if p.ChatID == who.chat {
			k.ledger.show(who, p)
		}
	}
	if ok && t.started != "" && r.ProcessID == t.started && k.hasEvents(ctx, t, who) {
		k.ledger.leave(who, t, shown)
	}
	return who, ok
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

// leave notes that a turn has left a process running, which its result shows unless
// nothing but its ID is known: then it may not have started.
func (l *ledger) leave(who conversation, t *turn, shown []procmgr.Process) {
	p := procmgr.Process{Command: t.command}
	if len(shown) > 0 {
		p = shown[0]
	}
	if p.ID = t.started; p.State == procmgr.Exited {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.book(who, t.manager)
	if t.notify && b.read != "" {
		// Another call may have read past the match since the start. What is read
		// twice does no harm, and what is lost by now is asked for.
		b.read = ""
		for _, j := range b.jobs {
			j.stale = j.stale || !j.ended
		}
	}
	j := l.add(who, p)
	j.maybe = len(shown) == 0
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
	j := &job{id: p.ID, order: l.order, process: p, stale: true}
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
func (l *ledger) stoppedByUser(who conversation, id string) {
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
func (b *book) sorted() []*job {
	return slices.SortedFunc(maps.Values(b.jobs), func(x, y *job) int { return cmp.Compare(x.order, y.order) })
}

// due returns the jobs with something to tell, the oldest news first.
func (b *book) due() []*job {
	due := slices.DeleteFunc(b.sorted(), func(j *job) bool { return !j.due() })
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

// hasOthers reports whether something was left running that a result does not show.
func (l *ledger) hasOthers(who conversation, shown map[string]string) bool {
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

// claim returns the notices for a result, which then count as told.
func (l *ledger) claim(who conversation, shown map[string]string) (notices []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.books[who]
	if b == nil {
		return nil
	}
	for id, text := range shown {
		if j := b.jobs[id]; j != nil && j.matched && strings.Contains(text, j.matchedLine) {
			j.matched, j.matchTold = false, true
		}
	}
	for _, j := range b.choose(shown) {
		notices = append(notices, j.notice())
		l.told(who, j, *j)
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
func (k *kit) look(ctx context.Context, m procmgr.Manager, who conversation) error {
	l := &k.ledger
	l.mu.Lock()
	b := l.books[who]
	if b == nil {
		l.mu.Unlock()
		return nil
	}
	after := b.read
	l.mu.Unlock()
	page, err := events(ctx, m, procmgr.EventsRequest{After: after, Limit: -1})
	if err != nil {
		return err
	}
	for _, id := range l.enterEvents(who, m, after, page) {
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

// enterEvents enters a page of events into a book. It returns the jobs to ask the manager
// about: stale jobs that live, and the ended ones that come next.
func (l *ledger) enterEvents(who conversation, m procmgr.Manager, after string, page procmgr.EventPage) (unread []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.books[who]
	if b == nil {
		return nil // another call has told all that there was
	}
	b.manager = m
	for _, e := range page.Events {
		if e.Process.ChatID == who.chat {
			b.happened(e)
		}
	}
	if b.read == after { // or another call has read further meanwhile
		b.read = page.Next
	}
	for _, j := range b.sorted() {
		if j.stale = j.stale || page.Gap && !j.ended; j.stale && !j.ended {
			unread = append(unread, j.id)
		}
	}
	for i, j := range b.due() {
		if i < maxTold && j.stale && j.ended {
			unread = append(unread, j.id)
		}
	}
	return unread
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
		j.stale = j.stale && !j.ended // the next look tries again
	case p.State == procmgr.Exited || j.ended:
		if p.ID = id; !j.ended {
			j.exit(p)
		}
		j.line, j.stale, j.held = lastLine(out.Text), false, held
	default:
		p.ID = id
		j.know(p)
		j.prompts(p.Waiting)
		j.line, j.stale = lastLine(out.Text), false
	}
}

// lastLine returns the last line of a text that is not blank.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
