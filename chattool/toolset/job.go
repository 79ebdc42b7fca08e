package toolset

import (
	"fmt"
	"strings"
	"time"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	// maxToldCommand and maxToldLine are how much of a command and of a line of
	// output a notice quotes, in bytes of a result.
	maxToldCommand = 80
	maxToldLine    = 200
	// maxKeptCommand is how much of each command a ledger remembers, in bytes of
	// JSON.
	maxKeptCommand = 256
)

// A job is a process that was left running, with something to tell now or later.
type job struct {
	id    string
	order uint64 // the job was left after those with a smaller order
	// process is the last state that is known. Its Command is cut.
	process procmgr.Process
	// maybe says that the process may never have started, and stale that the manager has
	// to be asked about it: for line, or because the events may not tell how it stands.
	maybe, stale bool
	// ended says that the process has ended, lost that it is unknown how, and stopped
	// that the user has stopped it.
	ended, lost, stopped bool
	at                   time.Time // of the end, or of the match
	// matched says that a line has matched notify_on, which is matchedLine, and
	// matchTold that the model knows.
	matched, matchTold bool
	matchedLine        string
	// prompt is how it waits for input, if that is to be told. prompted is since when
	// it waited at the last time that the model was told so, by a notice or by a
	// result.
	prompt   *procmgr.Waiting
	prompted time.Time
	// line is the last line of the output: what it asks, or its last one.
	line string
	held string // the process that holds the port it wanted, if that is known
}

// due reports whether there is something to tell.
func (j *job) due() bool { return j.ended || j.matched || j.prompt != nil }

// ready reports whether all is known that is to be told now.
func (j *job) ready() bool { return !j.stale || !j.ended && j.prompt == nil }

// prompts notes how a process waits for input, or that it does not if w is nil.
func (j *job) prompts(w *procmgr.Waiting) {
	switch {
	case w == nil || w.Since.Equal(j.prompted):
		j.prompt = nil
	case !j.ended && (j.prompt == nil || !w.Since.Equal(j.prompt.Since)):
		j.prompt, j.at = w, w.Since
		j.line, j.stale = "", true
	}
}

// toldPrompt notes that the model knows how a process waits for input.
func (j *job) toldPrompt(w *procmgr.Waiting) {
	if w == nil {
		return
	}
	if j.prompted = w.Since; j.prompt != nil && j.prompt.Since.Equal(w.Since) {
		j.prompt = nil
	}
}

// exit notes the end of a process.
func (j *job) exit(p procmgr.Process) {
	j.know(p)
	j.ended, j.at, j.prompt = true, p.ExitedAt, nil
	j.line, j.stale = "", true
}

// know notes how the process of a job stands.
func (j *job) know(p procmgr.Process) {
	if j.process.Command != "" {
		p.Command = j.process.Command
	}
	p.Command = wording.Clip(p.Command, maxKeptCommand)
	j.process, j.maybe = p, false
}

// lose notes that the manager knows a process no more.
func (j *job) lose() {
	j.ended, j.lost, j.stale, j.prompt, j.line = true, true, false, nil, ""
	j.at = time.Now()
	j.process.State, j.process.EndedBy = procmgr.Exited, procmgr.CauseLost
}

// happened notes an event. One may be read twice.
func (b *book) happened(e procmgr.Event) {
	j := b.jobs[e.Process.ID]
	if j == nil {
		return
	}
	if e.Kind == procmgr.EventExited && !j.ended {
		j.exit(e.Process)
	}
	if e.Kind == procmgr.EventMatched && !j.matchTold {
		j.matched, j.matchedLine = true, e.Line
	}
	if j.ended {
		return
	}
	j.know(e.Process)
	switch e.Kind {
	case procmgr.EventMatched:
		j.at = e.At
	case procmgr.EventWaiting:
		j.prompts(e.Process.Waiting)
	}
}

// shown returns the process of a job for a notice. The caller may change it.
func (j *job) shown() procmgr.Process {
	p := j.process
	if p.ExitCode != nil {
		p.ExitCode = new(*p.ExitCode)
	}
	if p.Waiting = nil; j.prompt != nil {
		p.Waiting = new(*j.prompt)
	}
	return p
}

// notice says what has become of a process. What it quotes cannot leave its
// line, nor its quotes.
func (j *job) notice() string {
	p := j.process
	text := wording.Odd(p.ID)
	if command := strings.TrimSpace(p.Command); command != "" {
		text += " (" + wording.Quote(command, maxToldCommand) + ")"
	}
	if j.matched {
		text += " printed a line that matches notify_on: " + wording.Quote(j.matchedLine, maxToldLine)
		if j.ended || j.prompt != nil {
			text += ", and"
		}
	}
	if j.prompt != nil {
		text += " waits for input"
		if j.prompt.Secret {
			text += ", without an echo, as for a password"
		}
		if j.line != "" {
			text += ": " + wording.Quote(j.line, maxToldLine)
		}
	}
	switch {
	case !j.ended:
		return text
	case j.lost:
		return text + " is no longer known to the process manager, and how it ended is unknown"
	}
	text += " " + j.howEnded()
	if j.line != "" && (j.line != j.matchedLine || !j.matched) {
		text += "; last line: " + wording.Quote(j.line, maxToldLine)
	}
	if j.held != "" {
		text += "; " + j.held
	}
	return text
}

// howEnded says how a process has ended, why, and how long it ran.
func (j *job) howEnded() string {
	p, text := j.process, "ended"
	if p.ExitCode != nil {
		text = fmt.Sprintf("exited with code %d", *p.ExitCode)
	}
	if p.Elapsed > 0 {
		text += " after " + wording.Brief(p.Elapsed)
	}
	why := cause(p)
	if p.EndedBy == procmgr.CauseRequest && j.stopped {
		why = "stopped by the user"
	}
	if why != "" {
		text += ": " + why
	}
	return text
}
