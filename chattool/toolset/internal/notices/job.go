package notices

import (
	"time"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/procmgr"
)

// A job is a process that was left running and of which something is to be
// told, or may be one day.
type job struct {
	id    string
	order uint64 // the job was left after those with a smaller order
	// process is the last state that is known. Its Command is cut.
	process procmgr.Process
	// maybe says that the process may never have started.
	maybe bool
	// ended says that the process has ended, and lost that nobody knows how.
	ended, lost bool
	at          time.Time // of the end, or of the match
	// matched says that a line has matched notify_on, which is matchedLine, and
	// matchTold that the model knows.
	matched, matchTold bool
	matchedLine        string
	// asks is how it waits for input, if that is to be told, and question what it
	// asks, once that is read. knows is since when it waited at the last time that
	// the model was told so, by a notice or by a result.
	asks     *procmgr.Waiting
	question string
	asksRead bool
	knows    time.Time
	// last is the last line of the output. It is read when it is needed.
	last     string
	lastRead bool
	// offered says that an Inbox has given it out. So a result leaves it out.
	offered bool
}

// due reports whether there is something to tell.
func (j *job) due() bool { return j.ended || j.matched && !j.matchTold || j.asks != nil }

// ready reports whether all is known that is to be told now.
func (j *job) ready() bool {
	return j.due() && (!j.ended || j.lastRead) && (j.asks == nil || j.asksRead)
}

// snapshot returns the process as it was seen last.
func (j *job) snapshot() procmgr.Process {
	p := j.process
	if p.ExitCode != nil {
		p.ExitCode = new(*p.ExitCode)
	}
	if p.Waiting = nil; j.asks != nil {
		p.Waiting = new(*j.asks)
	}
	return p
}

// waits notes how a process waits for input, or that it does not if w is nil.
func (j *job) waits(w *procmgr.Waiting, at time.Time) {
	switch {
	case w == nil:
		j.asks = nil
	case !j.ended && !w.Since.Equal(j.knows) && (j.asks == nil || !w.Since.Equal(j.asks.Since)):
		j.asks, j.asksRead, j.question, j.at = w, false, "", at
	}
}

// told notes that the model knows how a process waits for input.
func (j *job) told(w *procmgr.Waiting) {
	if w == nil {
		return
	}
	if j.knows = w.Since; j.asks != nil && j.asks.Since.Equal(w.Since) {
		j.asks = nil
	}
}

// exit notes the end of a process. The caller holds mu.
func (b *book) exit(p procmgr.Process) {
	if p.ExitedAt.After(b.latest) {
		b.latest = p.ExitedAt
	}
	if j := b.jobs[p.ID]; j != nil {
		j.know(p)
		j.ended, j.at, j.asks = true, p.ExitedAt, nil
	}
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
	j.ended, j.lost, j.lastRead, j.asks = true, true, true, nil
	j.at = time.Now()
	j.process.State, j.process.EndedBy = procmgr.Exited, procmgr.CauseLost
}

// happened notes an event. The caller holds mu.
func (b *book) happened(e procmgr.Event) {
	if e.Kind == procmgr.EventExited {
		b.exit(e.Process)
		return
	}
	j := b.jobs[e.Process.ID]
	if j == nil {
		return
	}
	switch e.Kind {
	case procmgr.EventMatched:
		if !j.matchTold {
			j.matched, j.matchedLine = true, e.Line
		}
		if !j.ended {
			j.at = e.At
		}
	case procmgr.EventWaiting:
		j.waits(e.Process.Waiting, e.At)
	case procmgr.EventRevived:
		j.ended, j.lastRead = false, false
	}
	if !j.ended { // an event may be read twice
		j.know(e.Process)
	}
}
