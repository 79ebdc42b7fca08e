package toolset

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/chattool/toolset/internal/advice"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	// lastResults is for how many results an output that was shown counts as one
	// that the model has before it.
	lastResults = 20
	// maxChats is how many conversations are remembered, and maxNoted how many
	// commands and processes of each. If there are more, all of them are forgotten,
	// which costs a whole result each.
	maxChats = 1024
	maxNoted = 256
	// maxOutputs is how many outputs of a command are remembered: one that failed
	// may be followed by one like that before it.
	maxOutputs = 3
	// minCompared is how many bytes an output has at least, if it is compared with
	// an earlier one, and compareLimit how long the manager may take for it.
	minCompared  = 1 << 10
	compareLimit = 5 * time.Second
	// againPart is how much shorter a result with the changes alone has to be: one
	// of so many. lastLines is how many lines of the end stand behind the changes,
	// and maxLastLine how much of each of them, in bytes of the result.
	againPart   = 2
	lastLines   = 5
	maxLastLine = 500
	// quietReads is how many reads in a row show nothing new when a result says
	// that in one line, and slowReads from which on such a read waits for slowRead,
	// unless something happens: each read costs the whole conversation once more.
	quietReads = 3
	slowReads  = 5
	slowRead   = 30 * time.Second
)

// A memory remembers what results have shown to each conversation.
type memory struct {
	mu    sync.Mutex // guards chats and all that is in them
	chats map[conversation]*chat
}

// A chat is what is remembered of one conversation.
type chat struct {
	results int                       // how many there were
	shown   map[command][]shownOutput // the last outputs that results have shown, the newest first
	ended   map[string]bool           // the processes whose end a result has shown
	reads   map[string]lastRead       // of processes that live
	place   string                    // the directory that it was told last
}

// A command is the same if it runs in the same way.
type command struct {
	text, dir string
	stdin     procmgr.Stdin
}

func commandOf(p procmgr.Process) command { return command{p.Command, p.WorkDir, p.Stdin} }

// A shownOutput is one that a result has shown, whole or cut.
type shownOutput struct {
	process procmgr.Process
	result  int // the number of that result
}

// A lastRead is what the last result about a process that lives has shown of it.
type lastRead struct {
	state      procmgr.State
	from, next int64
	live       string
	shown      int64     // results have shown the output up to here, from its beginning on
	empty      int       // how many reads in a row showed nothing new
	news       time.Time // when one showed something new last
}

// of locks the memory, and returns what it has of the conversation of a process. The
// caller unlocks it.
func (k *memory) of(m procmgr.Manager, p procmgr.Process) (c *chat, unlock func()) {
	who := conversationOf(m, p.ChatID)
	k.mu.Lock()
	if c = k.chats[who]; c == nil {
		if k.chats == nil || len(k.chats) >= maxChats {
			k.chats = make(map[conversation]*chat)
		}
		c = new(chat)
		k.chats[who] = c
	}
	return c, k.mu.Unlock
}

// put puts a value into a map that has a bounded size.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if _, has := (*m)[key]; *m == nil || !has && len(*m) >= maxNoted {
		*m = make(map[K]V)
	}
	(*m)[key] = value
}

// forget forgets which outputs were shown to a chat, and which it has read; "" is all.
func (k *memory) forget(chatID string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for who, c := range k.chats {
		if chatID == "" || who.chat == chatID {
			c.shown, c.ended, c.reads = nil, nil, nil
		}
	}
}

// place adds the directory of a process to the report if the model was told
// another one last, or none. So a model knows where it is and need not read it in
// every result.
func (k *kit) place(r *report, m procmgr.Manager, out procmgr.Output) {
	c, unlock := k.memory.of(m, out.Process)
	defer unlock()
	if dir := out.Process.WorkDir; dir != "" && dir != c.place {
		c.place, r.WorkDir = dir, dir
	}
}

// shows reports whether a result has the output of its process, as far as its
// budget allows.
func (k *kit) shows(r *report) bool {
	return r.Out != nil && r.Reads && !r.isError && r.Screen == nil && !r.lost() && r.Out.Process.ID != "" && !isBinary(r.Out.Text)
}

// remember notes what a result has shown, when it is written.
func (k *kit) remember(m procmgr.Manager, r *report) {
	if m == nil || r.Out == nil || r.Out.Process.ID == "" {
		return
	}
	// A smaller budget than the usual one may show hardly anything.
	shown := k.shows(r) && r.Earlier == nil && r.Quiet == 0 && (!r.whole || r.Truncated == nil)
	p := r.Out.Process
	c, unlock := k.memory.of(m, p)
	defer unlock()
	c.results++
	before := c.reads[p.ID]
	if p.State != procmgr.Exited {
		if shown && !r.read {
			c.read(*r.Out, r.From)
		}
		return
	}
	delete(c.reads, p.ID)
	put(&c.ended, p.ID, true)
	if shown && r.From <= before.shown {
		all := append([]shownOutput{{p, c.results}}, c.shown[commandOf(p)]...)
		put(&c.shown, commandOf(p), all[:min(len(all), maxOutputs)])
	}
}

// next returns the reading of a process if a result shows an output from an offset on.
func (c *chat) next(out procmgr.Output, from int64) lastRead {
	p, last := out.Process, c.reads[out.Process.ID]
	next := lastRead{state: p.State, from: min(from, out.Next), next: out.Next, live: out.Live, shown: last.shown, news: time.Now()}
	if next.from <= next.shown {
		next.shown = max(next.shown, out.Next)
	}
	news := next.from < last.from || next.next != last.next || next.live != last.live || next.state != last.state
	if last.state == "" {
		news = next.from < next.next || next.live != ""
	}
	if !news {
		next.empty = last.empty + 1
		if last.state != "" {
			next.news = last.news
		}
	}
	return next
}

// read notes that a result shows an output of a process that lives.
func (c *chat) read(out procmgr.Output, from int64) lastRead {
	r := c.next(out, from)
	put(&c.reads, out.Process.ID, r)
	return r
}

// compareAgain finds how the output of a report differs from the output of an earlier
// process with the same command, in the same directory, if one of the last 20 results
// of the conversation has shown the earlier output. If there are several, it takes the
// one with the smallest difference.
func (k *kit) compareAgain(ctx context.Context, m procmgr.Manager, r *report) {
	if k.opts.Whole || !r.compare || r.whole || !k.shows(r) || r.From != 0 || r.Out.Process.State != procmgr.Exited || ctx.Err() != nil {
		return
	}
	p, printed := r.Out.Process, int64(len(r.Out.Text))
	if t := r.Out.Truncated; t != nil {
		printed = t.OriginalBytes
	}
	var earlier []procmgr.Process
	c, unlock := k.memory.of(m, p)
	for _, o := range c.shown[commandOf(p)] {
		// A model that reads an output once more wants the text.
		if !c.ended[p.ID] && p.Command != "" && o.process.ID != p.ID && c.results-o.result < lastResults {
			earlier = append(earlier, o.process)
		}
	}
	unlock()
	if printed <= minCompared || len(earlier) == 0 || advice.PrintsFiles(k.source(ctx, m, p.Command)) {
		return
	}
	defer func() { _ = recover() }() // a manager that panics must not cost the result
	ctx, cancel := context.WithTimeout(ctx, compareLimit)
	defer cancel()
	for _, e := range earlier {
		out, err := m.Output(ctx, p.ID, procmgr.OutputRequest{From: atEnd, Against: e.ID, Limit: k.opts.Limit})
		if err != nil || out.Changes == nil {
			continue // it cannot be told, or this manager does not know the question
		}
		if c := *out.Changes; r.Again == nil || c.Same || c.Added+c.Removed < r.Again.Changes.Added+r.Again.Changes.Removed {
			r.Again = &again{Earlier: e, Changes: c}
		}
		if out.Changes.Same {
			return
		}
	}
}

// An again is how an output differs from the output of an earlier process, which the
// model has.
type again struct {
	Earlier procmgr.Process
	Changes procmgr.Changes
}

// again returns the report of a draft with the differences in place of the output.
// plain is the report before its output was laid out; in d the output is laid out by
// now. ok is false if some of the differences are missing, or if the result would not
// be short enough.
func (k *kit) again(d *report, plain Report) (short Report, ok bool) {
	c := d.Again.Changes
	r := plain
	r.Earlier, r.Changes = &d.Again.Earlier, &c
	r.NextOffset, r.LogPath = nil, ""
	r.Notes = append([]string{fmt.Sprintf(`all of it: %s {"process_id":%q}`, k.names.output, d.Out.Process.ID)}, plain.Notes...)
	if !c.Same {
		changed, now := 0, "" // now has the lines of the changes that are in the output
		for line := range strings.Lines(c.Text) {
			if line[0] == '+' || line[0] == '-' {
				changed++
			}
			if line[0] == '+' || line[0] == ' ' {
				now += line[1:]
			}
		}
		if changed != c.Added+c.Removed {
			return Report{}, false
		}
		c.Text = withoutNULs(c.Text)
		r.Notes = append(r.Notes, d.unprintable...)
		text := c.Text
		// A line of the changes begins with a blank, a + or a -, so the first one like
		// this is ours.
		if n, end := lastOf(d.Out.Text, lastLines); n > 0 && !strings.HasSuffix(now, end) {
			text += fmt.Sprintf("... [the last %d lines] ...\n", n) + withoutNULs(end)
		}
		r.Output = &text
	}
	return r, len(k.opts.Format.render(r))*againPart <= len(k.opts.Format.render(d.Report))
}

// lastOf returns the last lines of a text, at most so many, and how many they are.
func lastOf(text string, most int) (n int, end string) {
	at := len(text)
	for n < most && at > 0 {
		at = strings.LastIndexByte(text[:at-1], '\n') + 1
		n++
	}
	for line := range strings.Lines(text[at:]) {
		short := wording.Clip(strings.TrimSuffix(line, "\n"), maxLastLine)
		end += short + line[len(strings.TrimSuffix(line, "\n")):]
	}
	return n, end
}

// ranAgain returns the first line of a report with what differs.
func (r Report) ranAgain() []string {
	facts := []string{"ran again"}
	add := func(now, before string) {
		if now != "" && before != "" {
			now += " (" + before + " before)"
		}
		if now != "" {
			facts = append(facts, now)
		}
	}
	add(outcome(r.ExitCode, r.Signal, "exit code "), outcome(r.Earlier.ExitCode, r.Earlier.Signal, ""))
	took := ""
	if r.Earlier.State == procmgr.Exited && r.Earlier.Elapsed > 0 {
		took = wording.Brief(r.Earlier.Elapsed)
	}
	if r.Duration > 0 {
		add(wording.Brief(r.Duration), took)
	}
	id, c := wording.OneLine(r.Earlier.ID), r.Changes
	n := max(c.Added, c.Removed)
	same, rest := "the same output as ", ""
	if c.Times > 0 {
		same, rest = "the same but for times as ", ", the rest is the same but for times"
	}
	switch {
	case c.Same:
		return append(facts, same+id)
	case n == 0:
		return append(facts, "the lines of "+id+" in another order"+strings.TrimPrefix(rest, ", the rest is")+":")
	}
	return append(facts, fmt.Sprintf("differs from %s by %s of %d%s:", id, wording.Counted(n, "line", "lines"), c.Lines, rest))
}

// outcome says how a process has ended, or is "" if that is not known.
func outcome(code *int, signal, before string) string {
	switch {
	case signal != "":
		return wording.OneLine(signal)
	case code != nil:
		return before + strconv.Itoa(*code)
	}
	return ""
}

// A silence is a read of a process that may show nothing new, as many before it.
type silence struct {
	kit    *kit
	call   Call
	m      procmgr.Manager
	req    procmgr.OutputRequest // as the model has asked
	quiet  bool                  // nothing new may be told in one line
	waited time.Duration         // if the read has waited for longer than was asked for
}

// wait lets a read that shows nothing new wait on, if many before it did not either.
// It returns the outcome of the read so far, or a later one.
func (s *silence) wait(ctx context.Context, out procmgr.Output) procmgr.Output {
	p, asked, began := out.Process, max(s.req.Wait, 0), time.Now()
	more := min(slowRead, s.kit.opts.MaxTimeout) - asked
	if !s.quiet || more <= 0 || !alive(p) || p.State == "" || s.happened(out) || ctx.Err() != nil {
		return out
	}
	c, unlock := s.kit.memory.of(s.m, p)
	row := c.next(out, s.req.From)
	unlock()
	if row.empty < slowReads {
		return out
	}
	news := procmgr.OutputRequest{From: out.Next, Wait: more, State: p.State, Until: ".", UntilListening: s.req.UntilListening}
	news.UntilWaiting = p.Stdin != procmgr.StdinEmpty
	news.Limit.Bytes = 1
	if _, err := s.kit.await(ctx, s.call, s.m, p.ID, news); err != nil || ctx.Err() != nil {
		return out
	}
	again := s.req
	again.Wait = 0
	last, err := s.m.Output(ctx, p.ID, again)
	if err != nil {
		return out // it is as good as without the wait
	}
	last.Process.ID = p.ID
	s.waited = asked + time.Since(began).Round(time.Millisecond)
	return last
}

// happened reports whether what a read waited for has come, or whether the process
// waits for the model.
func (s *silence) happened(out procmgr.Output) bool {
	if out.Matched || out.Process.Waiting != nil { // the answer is the model's to give
		return true
	}
	for _, l := range out.Listening {
		if s.req.UntilListening < 0 || s.req.UntilListening > 0 && portOf(l) == s.req.UntilListening {
			return true
		}
	}
	return false
}

// tell says in a report that there is nothing new, if it is so for the third time, and
// what is better than to ask again and again.
func (s *silence) tell(r *report, out procmgr.Output) {
	p := out.Process
	if !alive(p) || p.State == "" || r.Screen != nil {
		return
	}
	c, unlock := s.kit.memory.of(s.m, p)
	row := c.read(out, s.req.From)
	unlock()
	r.read = true
	if s.waited > 0 {
		r.Add("This read waited %s, longer than asked for: earlier ones showed nothing new, and each costs the whole conversation once more.", wording.Brief(s.waited))
	}
	if !s.quiet || s.happened(out) || row.empty < quietReads {
		return
	}
	r.Quiet, r.Reads, r.LogPath = max(time.Since(row.news), time.Millisecond), false, ""
	hint := "to wait in one call, set wait_for or a wait_timeout"
	if s.kit.opts.MaxTimeout != noLimit {
		hint += " up to " + wording.Duration(s.kit.opts.MaxTimeout)
	}
	if s.kit.ledger.watches(conversationOf(s.m, p.ChatID), p.ID) {
		hint += "; with notify_on of " + s.kit.names.execute + " you are told without asking"
	}
	r.Notes = append([]string{hint}, r.Notes...)
}

// silence returns the line about a process that has shown nothing new.
func (r Report) silence() string {
	return "still " + wording.OneLine(string(r.State)) + ", nothing new for " + wording.Brief(r.Quiet)
}
