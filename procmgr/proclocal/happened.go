package proclocal

import (
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal/internal/retention"
)

// happened notes an event. The caller holds the Local's mu since the state of
// the process changed, so that no List contradicts the event.
func (l *Local) happened(kind procmgr.EventKind, at time.Time, p procmgr.Process, line string) {
	p.Command = retention.CutShort(p.Command)
	l.events.Add(p.ChatID, procmgr.Event{At: at, Kind: kind, Process: p, Line: line})
}

// matched notes that a line has matched StartRequest.Notify.
func (l *Local) matched(r *record, line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.happened(procmgr.EventMatched, time.Now(), r.snapshot(), line)
}
