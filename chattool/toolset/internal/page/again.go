package page

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/procmgr"
)

// An Again is how an output differs from that of an earlier process, which the
// model has.
type Again struct {
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
func (w Writer) again(d *Draft, plain Report) (short Report, ok bool) {
	c := d.Again.Changes
	r := plain
	r.Earlier, r.Changes = &d.Again.Earlier, &c
	r.NextOffset, r.LogPath = nil, ""
	r.Notes = append([]string{fmt.Sprintf(`all of it: %s {"process_id":%q}`, w.OutputTool, d.Out.Process.ID)}, plain.Notes...)
	if !c.Same {
		if changed(c.Text) != c.Added+c.Removed {
			return Report{}, false
		}
		text := c.Text
		if n, end := lastOf(d.Out.Text, lastLines); n > 0 && !endsWith(c.Text, c.Lines, n) {
			text += fmt.Sprintf(lastLinesBegin, n) + end
		}
		r.Output = &text
	}
	if len(w.Format.Render(r))*againPart > len(w.Format.Render(d.Report)) {
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
		if d := wording.Span(p.StartedAt, p.ExitedAt); d > 0 && !p.ExitedAt.IsZero() {
			return wording.Brief(d)
		}
		return ""
	}
	if r.Duration > 0 {
		add(wording.Brief(r.Duration), took(*r.Earlier))
	}
	id, c := wording.OneLine(r.Earlier.ID), r.Changes
	if c.Same {
		return append(facts, "the same output as "+id)
	}
	n := max(c.Added, c.Removed)
	if n == 0 {
		return append(facts, fmt.Sprintf("the lines of %s in another order:", id))
	}
	return append(facts, fmt.Sprintf("differs from %s by %s of %d:", id, wording.Counted(n, "line", "lines"), c.Lines))
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
