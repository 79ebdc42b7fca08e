package toolset

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/toolproc/toolproc/chattool/toolset/internal/wording"
	"github.com/toolproc/toolproc/procmgr"
)

// A NoticeMode says how a model is told of background processes that have
// ended; see Options.Notices.
type NoticeMode int

const (
	// NoticesInResults puts it into the result of the next call, whatever tool
	// that is of. A model is told at most once: if the loop drops the result,
	// or a crash or a compaction of the conversation loses it, so is the
	// notice. The model can ask with process_list at any time.
	NoticesInResults NoticeMode = iota
	// NoticesInInbox leaves it to the host, which takes it from an [Inbox]. So
	// nothing is lost, and an idle model can be woken.
	NoticesInInbox
	// NoNotices tells nothing. An Inbox of the Set is always empty.
	NoNotices
)

const (
	// maxMeanwhile is how much one message tells, in bytes of a result.
	maxMeanwhile = 2 << 10
	// maxToldCommand and maxToldLine are how much of a command and of a line of
	// output it quotes, in bytes of a result.
	maxToldCommand = 80
	maxToldLine    = 200
)

// A turn is what one call finds out beside its own work.
type turn struct {
	// started is the ID that Start was called with, if it was. A panic must not
	// lose the process.
	started string
	m       procmgr.Manager // nil until the resolver has returned one
	command string          // of execute
	// listed is the list that the call itself has asked for, or nil.
	listed []procmgr.Process
	// who is the conversation of the call, if known is set.
	who   conversation
	known bool
	// reads and since are for leave, and over for the end of the call.
	reads uint64
	since string
	over  func()
}

// note enters into the ledger what a result shows: which processes have ended,
// and which one it leaves running.
func (s *Set) note(t *turn, r *report) {
	if t.over != nil {
		defer t.over()
	}
	if s.opts.Notices == NoNotices || t.m == nil {
		return
	}
	if r.Processes != nil {
		t.who, t.known = conversationIn(t.m, t.listed)
		for _, p := range r.Processes {
			if p.State == procmgr.Exited && t.known && conversationOf(t.m, p.ChatID) == t.who {
				s.ledger.show(t.who, p)
			}
		}
		return
	}
	var p procmgr.Process
	if r.Out != nil && r.Out.Process.State != "" {
		p = r.Out.Process
		t.who, t.known = s.ledger.conversation(t.m, p.ChatID), true
	} else {
		t.who, t.known = s.ledger.of(t.m)
	}
	switch {
	case p.State == procmgr.Exited:
		s.ledger.show(t.who, p)
	case t.started != "" && r.ProcessID == t.started && t.known:
		left := leaving{process: p, maybe: p.ID == "", reads: t.reads, since: t.since}
		left.process.ID = t.started
		if left.process.Command == "" {
			left.process.Command = t.command
		}
		s.ledger.leave(t.who, t.m, left)
	}
}

// meanwhile claims what is to be told in the result of a call: what has become
// of the processes that the Set has left running in this conversation, except
// for those that the result itself shows. Of two calls at the same time, one
// gets it.
func (s *Set) meanwhile(ctx context.Context, t *turn, r *report) (notices []string) {
	if s.opts.Notices != NoticesInResults || ctx.Err() != nil || s.ledger.empty() {
		return nil
	}
	defer func() {
		if recover() != nil {
			notices = nil // a manager that panics must not cost the result
		}
	}()
	limited := within(ctx, lookLimit)
	defer limited.release()
	ctx = limited
	if !t.known {
		if t.who, t.known = s.whose(ctx, t); !t.known {
			return nil
		}
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
	if !s.ledger.others(t.who, shown) {
		return nil
	}
	if err := s.look(ctx, t.m, t.who, t.listed); err != nil {
		return nil // the next result tells it
	}
	return s.ledger.claim(t.who, shown)
}

// others reports whether something may have become of a process that a result
// does not show.
func (l *ledger) others(who conversation, shown map[string]string) bool {
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

// promise says in the result of a start when the model will be told of the
// process. It is "" if nobody would tell.
func (s *Set) promise(m procmgr.Manager, p procmgr.Process, notifyOn string) string {
	if p.State == "" || s.opts.Notices == NoNotices {
		return ""
	}
	when := "; you will be told when it ends"
	if notifyOn != "" {
		when += ", or when a line matches notify_on"
	}
	switch {
	case s.opts.Notices == NoticesInResults:
		return when + ", in the result of a later call"
	case s.ledger.attended(conversationOf(m, p.ChatID)):
		return when
	}
	return ""
}

// whose returns the conversation of a call that has seen no process.
func (s *Set) whose(ctx context.Context, t *turn) (who conversation, ok bool) {
	if t.m == nil {
		if t.m, _, ok = s.manager(ctx); !ok {
			return conversation{}, false
		}
	}
	if who, ok = s.ledger.of(t.m); ok {
		return who, true
	}
	if t.listed == nil {
		list, err := everything(ctx, t.m)
		if err != nil {
			return conversation{}, false
		}
		t.listed = list
	}
	return conversationIn(t.m, t.listed)
}

// of returns the conversation that was last seen by a manager.
func (l *ledger) of(m procmgr.Manager) (who conversation, ok bool) {
	if !reflect.ValueOf(m).Comparable() {
		return conversation{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for who, b := range l.books {
		if b.manager != nil && reflect.ValueOf(b.manager).Comparable() && b.manager == m {
			return who, true
		}
	}
	return conversation{}, false
}

// claim takes what one message can tell out of the ledger. shown has the
// processes that the result shows, with the output of them that it has.
func (l *ledger) claim(who conversation, shown map[string]string) (notices []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.books[who]
	if b == nil {
		return nil
	}
	for id, text := range shown {
		if j := b.jobs[id]; j != nil && j.matched && strings.Contains(text, j.line) {
			j.matchTold = true
		}
	}
	wanted := func(j *job) bool {
		_, ok := shown[j.id]
		return !ok && !j.offered
	}
	for _, j := range choose(b, wanted) {
		notices = append(notices, j.notice())
		l.tell(who, j, j.ended)
	}
	return notices
}

// tell notes that the model is told of a match, and of the end if ended is set.
// The caller holds mu.
func (l *ledger) tell(who conversation, j *job, ended bool) {
	if ended {
		l.seen(who, j.id)
		return
	}
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

// notice says what has become of a process. What it quotes cannot leave its
// line, nor its quotes.
func (j *job) notice() string {
	p := j.process
	text := wording.Odd(p.ID)
	if command := strings.TrimSpace(p.Command); command != "" {
		text += " (" + wording.Quote(command, maxToldCommand) + ")"
	}
	if j.matched && !j.matchTold {
		text += " printed a line that matches notify_on: " + wording.Quote(j.line, maxToldLine)
		if j.ended {
			text += ", and"
		}
	}
	switch {
	case !j.ended:
		return text
	case j.lost:
		return text + " is no longer known to the process manager, and nobody can tell how it ended"
	}
	text += " " + howEnded(p)
	if j.last != "" && (j.last != j.line || j.matchTold) {
		text += "; last line: " + wording.Quote(j.last, maxToldLine)
	}
	return text
}

// howEnded says how a process has ended, and how long it ran.
func howEnded(p procmgr.Process) string {
	after := ""
	if ran := wallDuration(p); ran > 0 {
		after = " after " + wording.Brief(ran)
	}
	code := ""
	if p.ExitCode != nil {
		code = fmt.Sprintf(" (exit code %d)", *p.ExitCode)
	}
	switch {
	case p.OOM:
		return "was most likely killed by the kernel's out-of-memory killer" + code + after
	case p.EndedBy == procmgr.CauseRequest:
		return "ended on request" + code + after
	case p.EndedBy == procmgr.CauseShutdown:
		return "ended with the process manager" + code + after
	case p.Signal != "":
		return "was ended by " + p.Signal + code + after
	case p.ExitCode != nil:
		return fmt.Sprintf("exited with code %d", *p.ExitCode) + after
	}
	return "ended" + after + " without a known exit code"
}
