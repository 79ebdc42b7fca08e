package toolset

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/chattool/toolset/internal/advice"
	"github.com/toolproc/toolproc/chattool/toolset/internal/notices"
	"github.com/toolproc/toolproc/chattool/toolset/internal/recall"
	"github.com/toolproc/toolproc/chattool/toolset/internal/script"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	// minCompared is how many bytes an output has at least, if it is compared with
	// an earlier one.
	minCompared = 1 << 10
	// compareLimit is how long the manager may take for it.
	compareLimit = 5 * time.Second
)

// compareAgain finds how the output of a report differs from that of an earlier
// process with the same command, if the model has that one before it: of several,
// the one from which it differs least.
func (k *kit) compareAgain(ctx context.Context, t *notices.Turn, r *report) {
	if k.opts.Whole || !r.compare || r.whole || !k.shows(r) || r.From != 0 || r.Out.Process.State != procmgr.Exited || ctx.Err() != nil || printed(*r.Out) <= minCompared {
		return
	}
	p := r.Out.Process
	earlier := k.memory.Before(notices.ConversationOf(t.Manager, p.ChatID), p)
	if len(earlier) == 0 || advice.PrintsFiles(&script.Source{Text: p.Command, Shell: k.shells.of(ctx, t.Manager)}) {
		return
	}
	defer func() { _ = recover() }() // a manager that panics must not cost the result
	ctx, cancel := context.WithTimeout(ctx, compareLimit)
	defer cancel()
	for _, e := range earlier {
		out, err := t.Manager.Output(ctx, p.ID, procmgr.OutputRequest{From: atEnd, Against: e.ID, Limit: k.page.Limit})
		if err != nil || out.Changes == nil {
			continue // nobody can tell, or this manager does not know the question
		}
		if c := *out.Changes; r.Again == nil || c.Same || c.Added+c.Removed < r.Again.Changes.Added+r.Again.Changes.Removed {
			r.Again = &again{Earlier: e, Changes: c}
		}
		if out.Changes.Same {
			return
		}
	}
}

// printed returns how many bytes an output has.
func printed(out procmgr.Output) int64 {
	if t := out.Truncated; t != nil {
		return t.OriginalBytes
	}
	return int64(len(out.Text))
}

// shows reports whether a result has the output of its process, as far as its
// budget allows.
func (k *kit) shows(r *report) bool {
	return r.Out != nil && r.Reads && !r.isError && r.Screen == nil && !r.Unknown && r.Out.Process.ID != "" && !isBinary(r.Out.Text)
}

// remember notes what a result has shown, when it is written.
func (k *kit) remember(t *notices.Turn, r *report) {
	if t.Manager == nil || r.Out == nil || r.Out.Process.ID == "" {
		return
	}
	// A smaller budget than the usual one may show hardly anything.
	shown := k.shows(r) && r.Earlier == nil && r.Quiet == 0 && (!r.whole || r.Truncated == nil)
	res := resultOf(*r.Out, r.From)
	res.Shown, res.Read = shown, r.read
	k.memory.Note(notices.ConversationOf(t.Manager, r.Out.Process.ChatID), res)
}

// resultOf returns what a result shows of an output from an offset on.
func resultOf(out procmgr.Output, from int64) recall.Result {
	return recall.Result{Process: out.Process, From: from, Next: out.Next, Live: out.Live}
}

// lastTook notes how long the command of a process took last.
func (k *kit) lastTook(r *report, m procmgr.Manager, p procmgr.Process) {
	r.LastTook, _ = k.memory.Took(notices.ConversationOf(m, p.ChatID), p)
}

// tookLast says how long the command took last, or is "".
func (r *report) tookLast() string {
	if r.LastTook <= 0 {
		return ""
	}
	return "; took " + wording.Brief(r.LastTook) + " last time"
}

// An again is how an output differs from that of an earlier process, which the
// model has.
type again struct {
	Earlier procmgr.Process
	Changes procmgr.Changes
}

const (
	// againPart is how much shorter a result with the changes alone has to be: one
	// of so many.
	againPart = 2
	// lastLines is how many lines of the end stand behind the changes.
	lastLines = 5
	// maxLastLine is how much of each of them, in bytes of the result.
	maxLastLine = 500
	// lastLinesBegin stands before them. A line of the changes that a program has
	// printed begins with a blank, a + or a -, so the first of these is the real one.
	lastLinesBegin = "... [the last %d lines] ...\n"
)

// again returns the report of a draft with what differs in the place of the
// output. plain is the report before its output was laid out, as that of d is now.
// ok is false if not all that differs is there, or if the result would not be short
// enough.
func (w writer) again(d *report, plain Report) (short Report, ok bool) {
	c := d.Again.Changes
	r := plain
	r.Earlier, r.Changes = &d.Again.Earlier, &c
	r.NextOffset, r.LogPath = nil, ""
	r.Notes = append([]string{fmt.Sprintf(`all of it: %s {"process_id":%q}`, w.OutputTool, d.Out.Process.ID)}, plain.Notes...)
	if !c.Same {
		if changed(c.Text) != c.Added+c.Removed {
			return Report{}, false
		}
		c.Text = withoutNULs(c.Text)
		r.Notes = append(r.Notes, d.unprintable...)
		text := c.Text
		if n, end := lastOf(d.Out.Text, lastLines); n > 0 && !endsWith(c.Text, c.Lines, n) {
			text += fmt.Sprintf(lastLinesBegin, n) + withoutNULs(end)
		}
		r.Output = &text
	}
	if len(w.Format.render(r))*againPart > len(w.Format.render(d.Report)) {
		return Report{}, false
	}
	return r, true
}

// changed counts the lines of changes that were added or removed.
func changed(text string) (n int) {
	for line := range strings.Lines(text) {
		if line[0] == '+' || line[0] == '-' {
			n++
		}
	}
	return n
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

// endsWith reports whether the last hunk has the last n of so many lines.
func endsWith(hunks string, lines, n int) bool {
	at := strings.LastIndex("\n"+hunks, "\n@@ ")
	if at < 0 {
		return false // compared as a set
	}
	header, _, _ := strings.Cut(hunks[at:], "\n")
	_, span, _ := strings.Cut(header, " +")
	first, count, several := strings.Cut(strings.TrimSuffix(span, " @@"), ",")
	from, err := strconv.Atoi(first)
	size := 1
	if several && err == nil {
		size, err = strconv.Atoi(count)
	}
	return err == nil && from+size-1 == lines && size >= n
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
	before := outcome(r.Earlier.ExitCode, r.Earlier.Signal, "")
	add(outcome(r.ExitCode, r.Signal, "exit code "), before)
	took := func(p procmgr.Process) string {
		if p.State == procmgr.Exited && p.Elapsed > 0 {
			return wording.Brief(p.Elapsed)
		}
		return ""
	}
	if r.Duration > 0 {
		add(wording.Brief(r.Duration), took(*r.Earlier))
	}
	id, c := wording.OneLine(r.Earlier.ID), r.Changes
	n := max(c.Added, c.Removed)
	times := ""
	if c.Times > 0 {
		times = ", the rest is the same but for times"
	}
	switch {
	case c.Same && c.Times > 0:
		return append(facts, "the same but for times as "+id)
	case c.Same:
		return append(facts, "the same output as "+id)
	case n == 0 && c.Times > 0:
		return append(facts, fmt.Sprintf("the lines of %s in another order, the same but for times:", id))
	case n == 0:
		return append(facts, fmt.Sprintf("the lines of %s in another order:", id))
	}
	return append(facts, fmt.Sprintf("differs from %s by %s of %d%s:", id, wording.Counted(n, "line", "lines"), c.Lines, times))
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

// silence returns the line about a process that has shown nothing new.
func (r Report) silence() string {
	line := "still " + wording.OneLine(string(r.State)) + ", nothing new for " + wording.Brief(r.Quiet)
	if r.LastTook > 0 {
		line += "; took " + wording.Brief(r.LastTook) + " last time"
	}
	return line
}
