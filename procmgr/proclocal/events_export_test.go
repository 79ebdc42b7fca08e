package proclocal

import (
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

// Tell notes n events of a chat, of a process that there is not.
func Tell(l *Local, chat string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range n {
		l.happened(procmgr.EventStarted, time.Time{}, procmgr.Process{ID: "x", ChatID: chat, Command: "true"}, "")
	}
}

// Waiting returns how many callers wait for events.
func Waiting(l *Local) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.events.Waiting()
}
